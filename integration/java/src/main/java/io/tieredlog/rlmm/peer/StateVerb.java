package io.tieredlog.rlmm.peer;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataTopicPartitioner;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** Prints what Kafka's manager answers, after a replay, for every partition on the metadata topic. */
final class StateVerb {
    private static final Comparator<RemoteLogSegmentMetadata> BY_START_OFFSET_AND_ID =
        Comparator.comparingLong(RemoteLogSegmentMetadata::startOffset)
            .thenComparing(segment -> segment.remoteLogSegmentId().id());

    private final PeerManager.Settings settings;

    StateVerb(PeerManager.Settings settings) {
        this.settings = settings;
    }

    void run(PrintStream out) throws Exception {
        Census census = new Census();
        int partitions;
        try (MetadataTopic topic = new MetadataTopic(settings.bootstrap())) {
            partitions = topic.partitionCount();
            topic.read(census::add);
        }
        if (partitions == 0) {
            throw new IllegalStateException("no topic " + PeerManager.METADATA_TOPIC);
        }
        print(out, census, partitions);
    }

    private void print(PrintStream out, Census census, int partitions) throws Exception {
        RemoteLogMetadataTopicPartitioner partitioner = new RemoteLogMetadataTopicPartitioner(partitions);
        try (PeerManager manager = new PeerManager(settings.withPartitions(partitions))) {
            manager.lead(census.entries().keySet());
            for (Map.Entry<TopicIdPartition, Census.Entry> entry : census.entries().entrySet()) {
                out.println(state(manager.kafka(), partitioner, entry.getKey(), entry.getValue()));
            }
        }
    }

    private static ObjectNode state(RemoteLogMetadataManager manager, RemoteLogMetadataTopicPartitioner partitioner,
                                    TopicIdPartition partition, Census.Entry entry) throws RemoteStorageException {
        ObjectNode json = MetadataJson.writePartition(MetadataJson.MAPPER.createObjectNode(), partition);
        json.put("metadataPartition", partitioner.metadataPartition(partition)).put("events", entry.events());
        segments(json.putArray("segments"), manager, partition);
        epochs(json.putArray("epochs"), manager, partition, entry);
        queries(json.putArray("get_epoch_offset_segment_nextTxn"), manager, partition, entry);
        return json;
    }

    /** Kafka leaves the order of this list open. */
    private static void segments(ArrayNode json, RemoteLogMetadataManager manager, TopicIdPartition partition)
            throws RemoteStorageException {
        List<RemoteLogSegmentMetadata> segments = new ArrayList<>();
        manager.listRemoteLogSegments(partition).forEachRemaining(segments::add);
        segments.sort(BY_START_OFFSET_AND_ID);
        segments.forEach(segment -> json.add(MetadataJson.write(segment)));
    }

    private static void epochs(ArrayNode json, RemoteLogMetadataManager manager, TopicIdPartition partition,
                               Census.Entry entry) throws RemoteStorageException {
        for (int epoch : entry.epochs()) {
            ObjectNode line = json.addObject().put("epoch", epoch);
            ArrayNode list = line.putArray("list");
            manager.listRemoteLogSegments(partition, epoch).forEachRemaining(segment -> list.add(id(segment)));
            line.put("highest", manager.highestOffsetForEpoch(partition, epoch).orElse(null));
            line.put("remoteLogSize", manager.remoteLogSize(partition, epoch));
        }
    }

    private static void queries(ArrayNode json, RemoteLogMetadataManager manager, TopicIdPartition partition,
                                Census.Entry entry) throws RemoteStorageException {
        for (int epoch : entry.epochs()) {
            for (long offset : entry.offsets()) {
                json.addArray().add(epoch).add(offset)
                    .add(idOrNull(manager.remoteLogSegmentMetadata(partition, epoch, offset)))
                    .add(idOrNull(manager.nextSegmentWithTxnIndex(partition, epoch, offset)));
            }
        }
    }

    /** The text "null", not JSON's null, stands for no segment: recordings of the answers have it so. */
    private static String idOrNull(Optional<RemoteLogSegmentMetadata> segment) {
        return segment.map(StateVerb::id).orElse("null");
    }

    private static String id(RemoteLogSegmentMetadata segment) {
        return segment.remoteLogSegmentId().id().toString();
    }
}
