package io.tieredlog.rlmm.peer;

import java.util.concurrent.Future;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** A mutation as a line of JSON: "op", and the fields of the event. */
final class Operation {
    private final JsonNode json;
    private final TopicIdPartition partition;

    /** Reads what is needed to route the operation; its other fields may still turn out to be bad. */
    Operation(String line) throws JsonProcessingException {
        json = MetadataJson.MAPPER.readTree(line);
        partition = MetadataJson.readPartition(json);
    }

    TopicIdPartition partition() {
        return partition;
    }

    Future<Void> start(RemoteLogMetadataManager manager) throws RemoteStorageException {
        String op = json.path("op").asText();
        return switch (op) {
            case "add" -> manager.addRemoteLogSegmentMetadata(MetadataJson.readSegment(json));
            case "update" -> manager.updateRemoteLogSegmentMetadata(MetadataJson.readUpdate(json));
            case "delete" -> manager.putRemotePartitionDeleteMetadata(MetadataJson.readDelete(json));
            default -> throw new IllegalArgumentException("op is none of add, update, delete: " + op);
        };
    }
}
