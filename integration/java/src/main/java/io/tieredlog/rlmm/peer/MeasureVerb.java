package io.tieredlog.rlmm.peer;

import java.io.BufferedReader;
import java.io.PrintStream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** Measures Kafka's manager: a request a line, an answer a line. */
final class MeasureVerb {
    private final PeerManager.Settings settings;

    MeasureVerb(PeerManager.Settings settings) {
        this.settings = settings;
    }

    void run(BufferedReader in, PrintStream out) throws Exception {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(MetadataJson.MAPPER.readTree(line)));
        }
    }

    private ObjectNode answer(JsonNode request) {
        ObjectNode answer = MetadataJson.MAPPER.createObjectNode();
        try {
            answer.set("values", measure(request));
        } catch (Exception e) {
            e.printStackTrace();
            answer.put("error", e.toString());
        }
        return answer;
    }

    private ObjectNode measure(JsonNode request) throws Exception {
        ObjectNode values = MetadataJson.MAPPER.createObjectNode();
        switch (request.get("kind").asText()) {
            case "latency" -> new MutationMeasures(settings, request).latency(values);
            case "throughput" -> new MutationMeasures(settings, request).throughput(values);
            case "queries" -> new QueryMeasures(settings, request).run(values);
            case "ready" -> new ReplayMeasures(settings, request).ready(values);
            case "assign" -> new ReplayMeasures(settings, request).assign(values);
            case "memory" -> new ReplayMeasures(settings, request).memory(values);
            default -> throw new IllegalArgumentException("no such measurement: " + request);
        }
        return values;
    }

    static double millisSince(long nanoTime) {
        return (System.nanoTime() - nanoTime) / 1e6;
    }
}
