package kafkatest

import "os"

// options is what a test can choose about a broker.
type options struct {
	version    string
	jvm        []string
	tiered     bool
	listeners  []string
	direct     []string          // listeners without a port for a proxy
	protocols  map[string]string // of listeners, PLAINTEXT when there is none
	properties map[string]string
}

// Option changes a broker that [Start] starts.
type Option func(*options)

func newOptions(opts []Option) options {
	o := options{version: os.Getenv("KAFKA_VERSION"), jvm: quickJVM("512m"), properties: map[string]string{}, protocols: map[string]string{}}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithVersion chooses the version of Apache Kafka, "3.9.1" for one, over KAFKA_VERSION
// and the default. Its jars are downloaded on first use.
func WithVersion(version string) Option { return func(o *options) { o.version = version } }

// WithJVMOption adds an option of the broker's JVM; of two that disagree the later wins.
// The defaults are a heap of at most 512 MB, and a quick start over speed later on: "-Xmx2g"
// and "-XX:TieredStopAtLevel=4" are for measurements.
func WithJVMOption(option string) Option {
	return func(o *options) { o.jvm = append(o.jvm, option) }
}

// quickJVM has a JVM compile quickly rather than well and collect garbage with one
// thread: a broker then starts with two thirds of the CPU time.
func quickJVM(heap string) []string {
	return []string{"-Xmx" + heap, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}
}

// WithProperty sets a property of the broker, over what [Start] sets.
func WithProperty(key, value string) Option {
	return func(o *options) { o.properties[key] = value }
}

// WithTieredStorage turns tiered storage on: Kafka's LocalTieredStorage in the broker's
// folder, and Kafka's TopicBasedRemoteLogMetadataManager, which has created its topic
// of 50 partitions when the broker is ready.
func WithTieredStorage() Option { return func(o *options) { o.tiered = true } }

// WithListener gives the broker one more listener, with addresses of its own: see
// [Broker.Listener]. The name is of letters, in capitals.
func WithListener(name string) Option {
	return func(o *options) { o.listeners = append(o.listeners, name) }
}
