package io.tieredlog.rlmm.peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.util.HexFormat;

import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;

/** Decodes values, one in hex a line, with Kafka's own serde. */
final class SerdeVerb {
    private final RemoteLogMetadataSerde serde = new RemoteLogMetadataSerde();

    void run(BufferedReader in, PrintStream out) throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(decode(line));
        }
    }

    private ObjectNode decode(String hex) {
        try {
            return MetadataJson.write(serde.deserialize(HexFormat.of().parseHex(hex)));
        } catch (RuntimeException e) {
            return MetadataJson.MAPPER.createObjectNode().put("error", e.toString());
        }
    }
}
