package io.tieredlog.rlmm.peer;

import java.io.BufferedReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;

import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataTopicPartitioner;

/**
 * Carries out mutations through Kafka's manager. Those of one metadata partition run one after the
 * other, in the order of the input; different metadata partitions run at the same time, since
 * Kafka's manager takes some 50 ms for each. The outcomes come in the order of the input.
 */
final class ApplyVerb {
    private static final int THREADS = 64;

    private final PeerManager.Settings settings;

    ApplyVerb(PeerManager.Settings settings) {
        this.settings = settings;
    }

    void run(BufferedReader in, PrintStream out) throws Exception {
        List<Operation> operations = new ArrayList<>();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            operations.add(new Operation(line));
        }
        int partitions = partitions();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try (PeerManager manager = new PeerManager(settings.withPartitions(partitions))) {
            manager.lead(concerned(operations));
            for (CompletableFuture<ObjectNode> outcome : apply(manager, partitions, operations, threads)) {
                out.println(outcome.get());
            }
        } finally {
            threads.shutdown();
        }
    }

    /** The topic's own number of partitions; the setting when it has to be created. */
    private int partitions() {
        try (MetadataTopic topic = new MetadataTopic(settings.bootstrap())) {
            return topic.partitionCount() == 0 ? settings.partitions() : topic.partitionCount();
        }
    }

    private static Set<TopicIdPartition> concerned(List<Operation> operations) {
        return operations.stream().map(Operation::partition).collect(Collectors.toSet());
    }

    private static List<CompletableFuture<ObjectNode>> apply(PeerManager manager, int partitions,
                                                             List<Operation> operations, ExecutorService threads) {
        RemoteLogMetadataTopicPartitioner partitioner = new RemoteLogMetadataTopicPartitioner(partitions);
        Map<Integer, CompletableFuture<ObjectNode>> last = new HashMap<>();
        List<CompletableFuture<ObjectNode>> outcomes = new ArrayList<>();
        for (Operation operation : operations) {
            outcomes.add(last.compute(partitioner.metadataPartition(operation.partition()), (partition, previous) ->
                previous == null
                    ? CompletableFuture.supplyAsync(() -> outcome(manager, operation), threads)
                    : previous.thenApplyAsync(done -> outcome(manager, operation), threads)));
        }
        return outcomes;
    }

    private static ObjectNode outcome(PeerManager manager, Operation operation) {
        ObjectNode json = MetadataJson.MAPPER.createObjectNode();
        try {
            operation.start(manager.kafka()).get();
            return json.put("ok", true);
        } catch (ExecutionException e) {
            return json.put("ok", false).put("error", e.getCause().toString());
        } catch (Exception e) {
            return json.put("ok", false).put("error", e.toString());
        }
    }
}
