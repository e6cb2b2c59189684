package io.tieredlog.rlmm.peer;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The metadata topic, read from its start to the end that it had when the reading began. */
final class MetadataTopic implements AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(200);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final List<TopicPartition> partitions;

    MetadataTopic(String bootstrap) {
        Map<String, Object> config = Map.of(
            ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false);
        consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        partitions = consumer.partitionsFor(PeerManager.METADATA_TOPIC).stream()
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    }

    /** Returns the number of partitions, 0 when there is no such topic. */
    int partitionCount() {
        return partitions.size();
    }

    void read(Consumer<byte[]> values) {
        consumer.assign(partitions);
        Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
        consumer.seekToBeginning(partitions);
        while (!reached(ends)) {
            for (ConsumerRecord<byte[], byte[]> message : consumer.poll(POLL)) {
                values.accept(message.value());
            }
        }
    }

    private boolean reached(Map<TopicPartition, Long> ends) {
        return ends.entrySet().stream().allMatch(end -> consumer.position(end.getKey()) >= end.getValue());
    }

    @Override
    public void close() {
        consumer.close();
    }
}
