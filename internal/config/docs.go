package config

import (
	"cmp"
	"fmt"
	"strings"
)

const docsHead = `# Configuration

Every command takes its settings from, in this order: its flags, the environment, the file that
` + "`--config`" + ` (or ` + "`RLMM_CONFIG`" + `) names, the defaults. ` + "`rlmm config`" + ` prints what holds and where each value comes
from, secrets hidden. Unknown keys are errors, with the nearest key; all errors are told at once, with
file and line.

The file is a properties file as Kafka's clients take it; where Kafka has a name for a setting it is Kafka's:

    bootstrap.servers=kafka-1:9093,kafka-2:9093
    security.protocol=SASL_SSL
    ssl.truststore.certificates.file=/etc/rlmm/ca.crt
    sasl.mechanism=SCRAM-SHA-512
    sasl.jaas.config.file=/etc/rlmm/sasl.jaas.config
    data.dir=/var/lib/rlmm

- **Environment.** Capitals, ` + "`_`" + ` for ` + "`.`" + `, ` + "`RLMM_`" + ` before: ` + "`RLMM_BOOTSTRAP_SERVERS`" + `. An empty variable is as none. One that is
  near a key's name is an error; others with the prefix belong to others, and are passed over.
- **Secrets and certificates from files.** A key marked † may be given as ` + "`KEY.file`" + `, a file that holds the value. It is read
  again for each connection, of HTTP's tokens for each request, as are trust stores and key stores: they rotate without a
  restart. The layout of a Strimzi user's secret fits: ` + "`sasl.jaas.config`, `user.crt`, `user.key`, `ca.crt`." + `
- **Clients of one kind.** A key of the connection may be given for all clients as ` + "`remote.log.metadata.common.client.KEY`" + `, and for
  one kind as ` + "`remote.log.metadata.producer.KEY`, `….consumer.KEY` or `….admin.KEY`" + `; the more specific wins, within one file or
  within the environment. ` + "`bootstrap.servers`" + ` is the same for all.
- **A broker's ` + "`server.properties`" + `** works as it is: of it only the keys with the prefix ` + "`rlmm.config.`" + ` are read (or the one that
  ` + "`remote.log.metadata.manager.impl.prefix`" + ` names), and the connection's: host, port and protocol of the listener that
  ` + "`remote.log.metadata.manager.listener.name`" + ` names, and below those the broker's own ` + "`security.protocol`, `sasl.*` and `ssl.*`" + ` as far as they
  are keys of this page. Logins that a broker has for one listener only (` + "`listener.name.*`" + `) are not read.
- **` + "`--command-config FILE`" + `**, as with Kafka's tools: only the keys of the connection are read from it, before those of ` + "`--config`." + `
- **Stores** of certificates may be PEM, PKCS12 or JKS; the content says which. Kerberos, cipher suites, engine factories
  and config providers are not supported, and their keys are errors. Settings that only tune Kafka's Java clients
  (` + "`linger.ms`, `max.poll.records`" + ` and the like) have no meaning here and are only told of.
- **Durations** are milliseconds, or have a unit: ` + "`30s`." + `

This page is made from the code: ` + "`go test ./internal/config -run TestDocs -update`." + `
`

// Markdown is docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(docsHead)
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| key | flag | default | |\n|---|---|---|---|\n", g)
		for _, k := range Catalogue() {
			if k.Group == g {
				b.WriteString(row(k))
			}
		}
	}
	return b.String()
}

func row(k Key) string {
	name, flag, def := code(k.Name), "", code(k.Default)
	if k.HasFile() {
		name += " †"
	}
	if k.Flag != "" {
		flag = code("--" + k.Flag)
	}
	values := string(k.Kind)
	if k.Values != nil {
		values = strings.Join(k.Values, ", ")
	}
	return fmt.Sprintf("| %s | %s | %s | %s (%s) |\n", name, flag, cmp.Or(def, "–"), k.Doc, values)
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}
