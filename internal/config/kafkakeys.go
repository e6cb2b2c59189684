package config

// unused are settings of Kafka's clients and of its manager (4.3.1: ProducerConfig,
// ConsumerConfig, AdminClientConfig, TopicBasedRemoteLogMetadataManagerConfig) that a
// configuration may hold and that have no meaning here: they tune Kafka's Java clients, or
// are fixed by the design. What secures a connection is never among them: a setting of that
// kind that rlmm doesn't know must be a fault.
var unused = []string{
	"acks", "allow.auto.create.topics", "auto.commit.interval.ms", "auto.offset.reset", "batch.size", "buffer.memory",
	"check.crcs", "client.dns.lookup", "client.rack", "compression.gzip.level", "compression.lz4.level", "compression.type",
	"compression.zstd.level", "connections.max.idle.ms", "default.api.timeout.ms", "delivery.timeout.ms", "enable.auto.commit",
	"enable.idempotence", "enable.metrics.push", "exclude.internal.topics", "fetch.max.bytes", "fetch.min.bytes", "group.protocol",
	"group.remote.assignor", "heartbeat.interval.ms", "interceptor.classes", "isolation.level", "key.deserializer", "key.serializer",
	"linger.ms", "max.block.ms", "max.in.flight.requests.per.connection", "max.partition.fetch.bytes", "max.poll.interval.ms",
	"max.poll.records", "max.request.size", "metadata.max.age.ms", "metadata.max.idle.ms", "metadata.recovery.rebootstrap.trigger.ms",
	"metadata.recovery.strategy", "metric.reporters", "metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms",
	"partition.assignment.strategy", "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
	"partitioner.class", "partitioner.ignore.keys", "receive.buffer.bytes", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
	"remote.log.metadata.initialization.retry.interval.ms", "remote.log.metadata.initialization.retry.max.timeout.ms",
	"request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms", "sasl.login.connect.timeout.ms",
	"sasl.login.read.timeout.ms", "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds",
	"sasl.login.refresh.window.factor", "sasl.login.refresh.window.jitter", "sasl.login.retry.backoff.max.ms",
	"sasl.login.retry.backoff.ms", "send.buffer.bytes", "socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms",
	"ssl.keymanager.algorithm", "ssl.protocol", "ssl.provider", "ssl.secure.random.implementation", "ssl.trustmanager.algorithm",
	"transaction.timeout.ms", "transactional.id", "value.deserializer", "value.serializer",
}
