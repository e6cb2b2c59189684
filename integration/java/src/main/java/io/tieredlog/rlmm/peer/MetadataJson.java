package io.tieredlog.rlmm.peer;

import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogSegmentMetadataSnapshot;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState;

/** The JSON form of Kafka's metadata events. Custom metadata is hex, null when absent. */
final class MetadataJson {
    static final ObjectMapper MAPPER = new ObjectMapper();

    private MetadataJson() {
    }

    static ObjectNode write(RemoteLogMetadata metadata) {
        if (metadata instanceof RemoteLogSegmentMetadata segment) {
            return writeSegment(segment);
        }
        if (metadata instanceof RemoteLogSegmentMetadataUpdate update) {
            return writeUpdate(update);
        }
        if (metadata instanceof RemotePartitionDeleteMetadata delete) {
            return writeDelete(delete);
        }
        if (metadata instanceof RemoteLogSegmentMetadataSnapshot snapshot) {
            return writeSnapshot(snapshot);
        }
        throw new IllegalArgumentException("unknown kind of metadata: " + metadata.getClass().getName());
    }

    /** Adds the three fields that name a partition. */
    static ObjectNode writePartition(ObjectNode json, TopicIdPartition partition) {
        return json.put("topic", partition.topic())
            .put("partition", partition.partition())
            .put("topicId", partition.topicId().toString());
    }

    private static ObjectNode writeSegment(RemoteLogSegmentMetadata segment) {
        ObjectNode json = writeId(kind("segment"), segment.remoteLogSegmentId());
        json.put("startOffset", segment.startOffset())
            .put("endOffset", segment.endOffset())
            .put("maxTimestampMs", segment.maxTimestampMs());
        writeEvent(json, segment).put("segmentSizeInBytes", segment.segmentSizeInBytes());
        writeEpochs(json, segment.segmentLeaderEpochs());
        writeState(json, segment.state()).put("txnIdxEmpty", segment.isTxnIdxEmpty());
        return writeCustom(json, segment.customMetadata());
    }

    private static ObjectNode writeUpdate(RemoteLogSegmentMetadataUpdate update) {
        ObjectNode json = writeEvent(writeId(kind("segmentUpdate"), update.remoteLogSegmentId()), update);
        return writeCustom(writeState(json, update.state()), update.customMetadata());
    }

    private static ObjectNode writeDelete(RemotePartitionDeleteMetadata delete) {
        ObjectNode json = writeEvent(writePartition(kind("partitionDelete"), delete.topicIdPartition()), delete);
        return json.put("state", delete.state().name()).put("stateId", delete.state().id());
    }

    private static ObjectNode writeSnapshot(RemoteLogSegmentMetadataSnapshot snapshot) {
        ObjectNode json = kind("segmentSnapshot").put("segmentId", snapshot.segmentId().toString());
        json.put("startOffset", snapshot.startOffset())
            .put("endOffset", snapshot.endOffset())
            .put("maxTimestampMs", snapshot.maxTimestampMs());
        writeEvent(json, snapshot).put("segmentSizeInBytes", snapshot.segmentSizeInBytes());
        writeEpochs(json, snapshot.segmentLeaderEpochs());
        writeState(json, snapshot.state()).put("txnIdxEmpty", snapshot.isTxnIdxEmpty());
        return writeCustom(json, snapshot.customMetadata());
    }

    private static ObjectNode kind(String kind) {
        return MAPPER.createObjectNode().put("kind", kind);
    }

    private static ObjectNode writeId(ObjectNode json, RemoteLogSegmentId id) {
        return writePartition(json, id.topicIdPartition()).put("segmentId", id.id().toString());
    }

    private static ObjectNode writeEvent(ObjectNode json, RemoteLogMetadata metadata) {
        return json.put("brokerId", metadata.brokerId()).put("eventTimestampMs", metadata.eventTimestampMs());
    }

    private static ObjectNode writeState(ObjectNode json, RemoteLogSegmentState state) {
        return json.put("state", state.name()).put("stateId", state.id());
    }

    private static ObjectNode writeCustom(ObjectNode json, Optional<CustomMetadata> custom) {
        return json.put("customMetadata", custom.map(c -> HexFormat.of().formatHex(c.value())).orElse(null));
    }

    private static void writeEpochs(ObjectNode json, Map<Integer, Long> epochs) {
        ArrayNode list = json.putArray("epochs");
        epochs.forEach((epoch, offset) -> list.addArray().add(epoch).add(offset));
    }

    static RemoteLogSegmentMetadata readSegment(JsonNode json) {
        return new RemoteLogSegmentMetadata(
            readId(json),
            field(json, "startOffset").asLong(),
            field(json, "endOffset").asLong(),
            field(json, "maxTimestampMs").asLong(),
            field(json, "brokerId").asInt(),
            field(json, "eventTimestampMs").asLong(),
            field(json, "segmentSizeInBytes").asInt(),
            readCustom(json),
            RemoteLogSegmentState.valueOf(field(json, "state").asText()),
            readEpochs(json),
            field(json, "txnIdxEmpty").asBoolean());
    }

    static RemoteLogSegmentMetadataUpdate readUpdate(JsonNode json) {
        return new RemoteLogSegmentMetadataUpdate(
            readId(json),
            field(json, "eventTimestampMs").asLong(),
            readCustom(json),
            RemoteLogSegmentState.valueOf(field(json, "state").asText()),
            field(json, "brokerId").asInt());
    }

    static RemotePartitionDeleteMetadata readDelete(JsonNode json) {
        return new RemotePartitionDeleteMetadata(
            readPartition(json),
            RemotePartitionDeleteState.valueOf(field(json, "state").asText()),
            field(json, "eventTimestampMs").asLong(),
            field(json, "brokerId").asInt());
    }

    static TopicIdPartition readPartition(JsonNode json) {
        TopicPartition partition = new TopicPartition(field(json, "topic").asText(), field(json, "partition").asInt());
        return new TopicIdPartition(Uuid.fromString(field(json, "topicId").asText()), partition);
    }

    private static RemoteLogSegmentId readId(JsonNode json) {
        return new RemoteLogSegmentId(readPartition(json), Uuid.fromString(field(json, "segmentId").asText()));
    }

    private static Optional<CustomMetadata> readCustom(JsonNode json) {
        JsonNode custom = json.path("customMetadata");
        return custom.isTextual()
            ? Optional.of(new CustomMetadata(HexFormat.of().parseHex(custom.asText())))
            : Optional.empty();
    }

    private static Map<Integer, Long> readEpochs(JsonNode json) {
        Map<Integer, Long> epochs = new TreeMap<>();
        for (JsonNode entry : field(json, "epochs")) {
            epochs.put(entry.get(0).asInt(), entry.get(1).asLong());
        }
        return epochs;
    }

    private static JsonNode field(JsonNode json, String name) {
        if (!json.hasNonNull(name)) {
            throw new IllegalArgumentException("no field " + name);
        }
        return json.get(name);
    }
}
