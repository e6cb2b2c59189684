package io.tieredlog.rlmm.peer;

import java.util.Comparator;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

/** What occurs on the metadata topic: the partitions, and the epochs and offsets worth asking for. */
final class Census {
    private static final Comparator<TopicIdPartition> BY_TOPIC_ID_PARTITION =
        Comparator.comparing(TopicIdPartition::topic)
            .thenComparing(partition -> partition.topicId().toString())
            .thenComparing(TopicIdPartition::partition);

    /** What occurs for one partition. */
    static final class Entry {
        private int events;
        private final SortedSet<Integer> epochs = new TreeSet<>();
        private final SortedSet<Long> offsets = new TreeSet<>();

        int events() {
            return events;
        }

        SortedSet<Integer> epochs() {
            return epochs;
        }

        /** The first and the last offset of every segment, and the first of each of its epochs. */
        SortedSet<Long> offsets() {
            return offsets;
        }

        private void add(RemoteLogMetadata metadata) {
            events++;
            if (metadata instanceof RemoteLogSegmentMetadata segment) {
                epochs.addAll(segment.segmentLeaderEpochs().keySet());
                offsets.addAll(segment.segmentLeaderEpochs().values());
                offsets.add(segment.startOffset());
                offsets.add(segment.endOffset());
            }
        }
    }

    private final RemoteLogMetadataSerde serde = new RemoteLogMetadataSerde();
    private final SortedMap<TopicIdPartition, Entry> entries = new TreeMap<>(BY_TOPIC_ID_PARTITION);

    /** The partitions, by topic, topic id and partition. */
    SortedMap<TopicIdPartition, Entry> entries() {
        return entries;
    }

    /** Counts the event in the value of a record; one that can't be decoded is reported and left out. */
    void add(byte[] value) {
        try {
            RemoteLogMetadata metadata = serde.deserialize(value);
            entries.computeIfAbsent(metadata.topicIdPartition(), partition -> new Entry()).add(metadata);
        } catch (RuntimeException e) {
            System.err.println("not a metadata event: " + e);
        }
    }
}
