package config

import (
	"slices"
	"strings"
	"sync"
)

// clientsPrefix begins the keys of Kafka's TopicBasedRemoteLogMetadataManagerConfig that
// are passed on to its clients.
const clientsPrefix = "remote.log.metadata."

// common is the part of the prefix that all clients share; the others are of one kind.
const common = "common.client"

var (
	allClients = []string{common, "producer", "consumer", "admin"}
	consumers  = []string{common, "consumer"}
	protocols  = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}
	mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}
	stores     = []string{"PEM", "PKCS12", "JKS"}
)

// Catalogue returns every key, by group.
func Catalogue() []Key {
	return slices.Concat(connectionKeys(), fleetKeys(), topicKeys(), stateKeys(), httpKeys(), httpStoreKeys(), httpClientKeys(), logKeys())
}

func connectionKeys() []Key {
	keys := []Key{
		{Name: "security.protocol", Values: protocols, Default: "PLAINTEXT", Doc: "How connections to the brokers are secured."},
		{Name: "sasl.mechanism", Values: mechanisms, Doc: "How the client logs in; needed with the SASL protocols."},
		{
			Name: "sasl.jaas.config", Kind: Secret,
			Doc: "The mechanism's login module (PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule) and its options, as Kafka's clients take it. In a file it is read for each log-in.",
		},
		{
			Name: "sasl.oauthbearer.token.endpoint.url",
			Doc:  "Where OAUTHBEARER gets its tokens: an OAuth 2 server (options clientId, clientSecret and scope of the login module), or file:///path of a token. Without it the token is unsecured (option unsecuredLoginStringClaim_sub), for trials.",
		},
		{Name: "ssl.truststore.type", Values: stores, Doc: "Accepted; what the file holds tells by itself."},
		{Name: "ssl.truststore.location", Doc: "File with the authorities to trust. Without one, and without ssl.truststore.certificates, they are the system's."},
		{Name: "ssl.truststore.password", Kind: Secret, Doc: "What opens ssl.truststore.location."},
		{Name: "ssl.truststore.certificates", Kind: PEM, Doc: "The authorities to trust."},
		{Name: "ssl.keystore.type", Values: stores, Doc: "Accepted; what the file holds tells by itself."},
		{Name: "ssl.keystore.location", Doc: "File with the client's certificate and key, for mutual TLS."},
		{Name: "ssl.keystore.password", Kind: Secret, Doc: "What opens ssl.keystore.location."},
		{Name: "ssl.keystore.certificate.chain", Kind: PEM, Doc: "The client's certificate, in place of ssl.keystore.location."},
		{Name: "ssl.keystore.key", Kind: Secret, Doc: "The certificate's key, PEM, in place of ssl.keystore.location."},
		{Name: "ssl.key.password", Kind: Secret, Doc: "What opens the key; ssl.keystore.password when there is none."},
		{
			Name: "ssl.endpoint.identification.algorithm", Values: []string{"https"}, Default: "https", MayBeEmpty: true,
			Doc: "Empty takes a trusted certificate of any host.",
		},
		{Name: "ssl.enabled.protocols", Kind: List, Default: "TLSv1.2,TLSv1.3", Doc: "The versions of TLS to speak."},
		{Name: "client.id", Default: "rlmm", Doc: "The client's name in the brokers' logs and quotas."},
	}
	for i := range keys {
		keys[i].Prefixes = allClients
	}
	bootstrap := Key{Name: "bootstrap.servers", Kind: Hosts, Flag: "bootstrap", Prefixes: []string{common}, Doc: "Brokers to connect to first."}
	return inGroup(Connection, append([]Key{bootstrap}, keys...)...)
}

func fleetKeys() []Key {
	return inGroup(
		Fleet,
		Key{Name: "group.id", Default: "rlmm", Flag: "group", Doc: "The fleet's consumer group; the table is the topic GROUP-table, rejected events go to GROUP-rejected."},
		Key{Name: "group.instance.id", Flag: "instance-id", Prefixes: consumers, Doc: "Makes a processor a static member of the group."},
		Key{
			Name: "session.timeout.ms", Kind: Millis, Default: "10000", Min: 1, Flag: "session-timeout", Prefixes: consumers,
			Doc: "How long the group waits for a silent processor before others get its partitions.",
		},
		Key{
			Name: "fetch.max.wait.ms", Kind: Millis, Default: "100", Min: 1, Prefixes: consumers,
			Doc: "How long a broker may hold a fetch that has no records. To stop a view takes up to that long.",
		},
	)
}

func topicKeys() []Key {
	return inGroup(
		Topics,
		Key{Name: "metadata.topic", Default: "__remote_log_metadata", Flag: "topic", Doc: "The metadata topic. Kafka's own manager knows the default only."},
		Key{Name: "create.topics", Kind: Bool, Default: "false", Flag: "create-topics", Doc: "Whether a processor creates topics that are missing. Topics that exist are never altered."},
		Key{Name: "remote.log.metadata.topic.num.partitions", Kind: Int, Default: "50", Min: 1, Flag: "partitions", Doc: "Partitions of a created metadata topic."},
		Key{Name: "remote.log.metadata.topic.replication.factor", Kind: Int, Default: "3", Min: 1, Flag: "replication-factor", Doc: "Replication factor of created topics."},
		Key{Name: "remote.log.metadata.topic.min.isr", Kind: Int, Default: "0", Flag: "min-isr", Doc: "min.insync.replicas of created topics; 0 is 2, or the replication factor if that is less."},
		Key{Name: "remote.log.metadata.topic.retention.ms", Kind: Millis, Default: "-1", Min: -1, Doc: "Retention of a created metadata topic; -1 is for ever."},
		Key{
			Name: "table.row.version", Kind: Int, Default: "1", Min: 1, Flag: "row-version",
			Doc: "Version in which a processor writes the table's rows. All versions up to the newest that a release knows are read. Raised last in an upgrade, when every processor and server knows it.",
		},
		Key{Name: "remote.log.metadata.consume.wait.ms", Kind: Millis, Default: "120000", Min: 1, Flag: "consume-wait", Doc: "How long a mutation waits for its outcome."},
		Key{
			Name: "highest.offset.bounds", Values: []string{"segment", "epoch"}, Default: "segment", Flag: "highest-offset-bounds",
			Doc: "The highest offset of an epoch: the end of the segment, or of the epoch within it as Kafka's manager answers.",
		},
	)
}

func stateKeys() []Key {
	return inGroup(
		State,
		Key{Name: "data.dir", Default: "./rlmm-data", Flag: "data", Doc: "Folder for local state, of this process alone. It can be deleted and is rebuilt."},
		Key{Name: "purge.after.ms", Kind: Millis, Default: "86400000", Min: 1, Doc: "How long the marker of a deleted segment is kept."},
		Key{Name: "maintain.interval.ms", Kind: Millis, Default: "3600000", Min: 1, Doc: "How often a processor writes its positions and purges markers."},
		Key{Name: "store.write.buffer.bytes", Kind: Int, Default: "1048576", Min: 1, Doc: "Write buffer of each local store; it may hold two. A view's store that has little to read takes 64 KiB at most."},
		Key{Name: "store.block.cache.bytes", Kind: Int, Default: "8388608", Min: 1, Doc: "Block cache of each local store, which holds what was read."},
		Key{Name: "index.max.segments", Kind: Int, Default: "4000000", Min: 1, Doc: "How many segments the indexes of a server hold in memory."},
	)
}

func httpKeys() []Key {
	return inGroup(
		HTTP,
		Key{Name: "http.address", Kind: Address, Flag: "http", Doc: "Where HTTP is served; a server's default is 127.0.0.1:8083, a processor's none."},
		Key{Name: "http.allow.mutations", Kind: Bool, Default: "false", Flag: "allow-mutations", Doc: "Whether a server lets adds, updates and deletes through."},
		Key{Name: "http.allow.control", Kind: Bool, Default: "false", Flag: "allow-control", Doc: "Whether a server lets metadata partitions be paused, resumed, restarted and rebuilt, and any process its log level be set."},
		Key{Name: "http.read.tokens", Kind: Secret, Doc: "Bearer tokens that may read, separated by white space; 16 characters or more each."},
		Key{Name: "http.mutate.tokens", Kind: Secret, Doc: "Bearer tokens that may mutate, and read."},
		Key{Name: "http.control.tokens", Kind: Secret, Doc: "Bearer tokens that may control, and read."},
		Key{Name: "http.read.principals", Kind: List, Default: "*", Doc: "Common names of the client certificates that may read; * is all that are trusted. Needs a trust store."},
		Key{Name: "http.mutate.principals", Kind: List, Doc: "Common names of the client certificates that may mutate, and read."},
		Key{Name: "http.control.principals", Kind: List, Doc: "Common names of the client certificates that may control, and read."},
		Key{Name: "http.admin.address", Kind: Loopback, Flag: "admin", Doc: "Where /debug/pprof is served; nowhere by default."},
		Key{Name: "metrics.partitions", Kind: Bool, Default: "false", Flag: "metrics-partitions", Doc: "Whether metrics are shown of each metadata partition, under the label partition."},
		Key{Name: "assign", Kind: Partitions, Default: "all", Flag: "assign", Doc: "Metadata partitions that a server views."},
	)
}

// storeKeys are the keys of a certificate and of the authorities to trust, as Kafka names
// them, behind a prefix.
func storeKeys(prefix, whose, trusts string) []Key {
	return []Key{
		{Name: prefix + "ssl.keystore.certificate.chain", Kind: PEM, Doc: whose + " certificate."},
		{Name: prefix + "ssl.keystore.key", Kind: Secret, Doc: "The certificate's key, PEM."},
		{Name: prefix + "ssl.keystore.location", Doc: "File with certificate and key, in place of the two."},
		{Name: prefix + "ssl.keystore.password", Kind: Secret, Doc: "What opens " + prefix + "ssl.keystore.location."},
		{Name: prefix + "ssl.key.password", Kind: Secret, Doc: "What opens the key; " + prefix + "ssl.keystore.password when there is none."},
		{Name: prefix + "ssl.truststore.certificates", Kind: PEM, Doc: trusts},
		{Name: prefix + "ssl.truststore.location", Doc: "File with the authorities to trust, in place of " + prefix + "ssl.truststore.certificates."},
		{Name: prefix + "ssl.truststore.password", Kind: Secret, Doc: "What opens " + prefix + "ssl.truststore.location."},
	}
}

// The prefixes of the keys of those who serve HTTP, and of those who ask (--server).
const (
	serverPrefix = "http."
	clientPrefix = "http.client."
)

func httpStoreKeys() []Key {
	return inGroup(HTTP, storeKeys(serverPrefix, "The server's", "Authorities of clients' certificates: with them a client can log in with a certificate.")...)
}

func httpClientKeys() []Key {
	token := Key{Name: clientPrefix + "token", Kind: Secret, Doc: "Bearer token to log in with."}
	return inGroup(Asking, append([]Key{token}, storeKeys(clientPrefix, "The client's", "Authorities of the server's certificate; the system's without one.")...)...)
}

func logKeys() []Key {
	return inGroup(
		Log,
		Key{Name: "log.level", Values: []string{"debug", "info", "warn", "error"}, Default: "info", Doc: "What is logged; --verbose is debug."},
		Key{Name: "log.format", Values: []string{"text", "json"}, Default: "text", Doc: "How it is written."},
	)
}

func inGroup(g Group, keys ...Key) []Key {
	for i := range keys {
		keys[i].Group = g
		if keys[i].Kind == "" {
			keys[i].Kind = Text
		}
	}
	return keys
}

// known is every name that may be given, with its key: with prefixes, and .file.
var known = sync.OnceValue(func() map[string]Key {
	names := map[string]Key{}
	for _, k := range Catalogue() {
		for _, prefix := range append([]string{""}, k.Prefixes...) {
			name := k.Name
			if prefix != "" {
				name = prefixed(prefix, k.Name)
			}
			names[name] = k
			if k.HasFile() {
				names[name+fileSuffix] = k
			}
		}
	}
	return names
})

func prefixed(prefix, name string) string { return clientsPrefix + prefix + "." + name }

func isPrefixed(name, prefix string) bool {
	return strings.HasPrefix(name, clientsPrefix+prefix+".")
}

func isFileName(name string) bool {
	_, ok := known()[name]
	return ok && strings.HasSuffix(name, fileSuffix)
}

// KeyOf returns the key of a flag.
func KeyOf(flag string) (Key, bool) {
	for _, k := range Catalogue() {
		if flag != "" && k.Flag == flag {
			return k, true
		}
	}
	return Key{}, false
}

// isUnused tells whether Kafka's clients know the name and rlmm's don't.
func isUnused(name string) bool {
	for _, prefix := range allClients {
		if rest, ok := strings.CutPrefix(name, clientsPrefix+prefix+"."); ok {
			name = rest
			break
		}
	}
	return slices.Contains(unused, name)
}
