package io.tieredlog.rlmm.peer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;

/** The partitions and segments of the benchmark, the same as those of its Go side. */
final class Workload {
    static final int OFFSETS_OF_SEGMENT = 100;
    static final int SEGMENTS_OF_EPOCH = 100;
    static final int SEGMENT_BYTES = 1 << 20;

    private static final int PARTITIONS_OF_TOPIC = 10;
    private static final int BROKER_ID = 101;
    private static final long START_TIME_MS = 1_700_000_000_000L;

    private Workload() {
    }

    static TopicIdPartition partition(long seed, int i) {
        int topic = i / PARTITIONS_OF_TOPIC;
        return new TopicIdPartition(new Uuid(seed * 1_000_003 + 17, topic + 1),
            new TopicPartition("topic-" + topic, i % PARTITIONS_OF_TOPIC));
    }

    static List<TopicIdPartition> partitions(long seed, int count) {
        List<TopicIdPartition> partitions = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            partitions.add(partition(seed, i));
        }
        return partitions;
    }

    /** The event that adds a partition's i-th segment, with a new id. */
    static RemoteLogSegmentMetadata segment(TopicIdPartition partition, int i, int epoch) {
        long start = (long) i * OFFSETS_OF_SEGMENT;
        return new RemoteLogSegmentMetadata(new RemoteLogSegmentId(partition, Uuid.randomUuid()),
            start, start + OFFSETS_OF_SEGMENT - 1, START_TIME_MS + i, BROKER_ID, START_TIME_MS + i, SEGMENT_BYTES,
            Map.of(epoch, start), i % 10 != 0);
    }

    static RemoteLogSegmentMetadataUpdate finish(RemoteLogSegmentMetadata segment) {
        return new RemoteLogSegmentMetadataUpdate(segment.remoteLogSegmentId(), segment.eventTimestampMs() + 1,
            Optional.empty(), RemoteLogSegmentState.COPY_SEGMENT_FINISHED, BROKER_ID);
    }
}
