package io.tieredlog.rlmm.peer;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataTopicPartitioner;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** How long Kafka's manager takes to be ready, and what it holds then. */
final class ReplayMeasures {
    private static final int COLLECTIONS = 4;

    private final PeerManager.Settings settings;
    private final List<TopicIdPartition> partitions;
    private final int segments;

    ReplayMeasures(PeerManager.Settings settings, JsonNode request) {
        this.settings = settings;
        partitions = Workload.partitions(request.get("seed").asLong(), request.get("userPartitions").asInt());
        segments = request.get("segments").asInt();
    }

    void ready(ObjectNode values) throws Exception {
        long start = System.nanoTime();
        try (PeerManager manager = new PeerManager(settings)) {
            manager.lead(partitions);
            values.put("ready", MeasureVerb.millisSince(start));
        }
    }

    /** The metadata partition of the first user partition is the one that comes later. */
    void assign(ObjectNode values) throws Exception {
        RemoteLogMetadataTopicPartitioner partitioner = new RemoteLogMetadataTopicPartitioner(settings.partitions());
        int later = partitioner.metadataPartition(partitions.get(0));
        Map<Boolean, List<TopicIdPartition>> split = partitions.stream()
            .collect(Collectors.partitioningBy(partition -> partitioner.metadataPartition(partition) == later));
        try (PeerManager manager = new PeerManager(settings)) {
            manager.lead(split.get(false));
            long start = System.nanoTime();
            manager.lead(split.get(true));
            values.put("assign", MeasureVerb.millisSince(start));
        }
    }

    void memory(ObjectNode values) throws Exception {
        long before = heap();
        try (PeerManager manager = new PeerManager(settings)) {
            manager.lead(partitions);
            long found = 0;
            for (TopicIdPartition partition : partitions) {
                found += list(manager, partition).size();
            }
            if (found != segments) {
                throw new IllegalStateException(found + " segments, want " + segments);
            }
            values.put("memory", (heap() - before) / (double) found);
        }
    }

    private static List<RemoteLogSegmentMetadata> list(PeerManager manager, TopicIdPartition partition)
            throws RemoteStorageException {
        List<RemoteLogSegmentMetadata> segments = new ArrayList<>();
        Iterator<RemoteLogSegmentMetadata> all = manager.kafka().listRemoteLogSegments(partition);
        all.forEachRemaining(segments::add);
        return segments;
    }

    /** The bytes that are still in use after some collections. */
    private static long heap() {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }
}
