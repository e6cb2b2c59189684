package io.tieredlog.rlmm.peer;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** How long Kafka's manager takes to add segments and to finish them. */
final class MutationMeasures {
    private final PeerManager.Settings settings;
    private final List<TopicIdPartition> partitions;
    private final int segments;
    private final int inFlight;

    MutationMeasures(PeerManager.Settings settings, JsonNode request) {
        this.settings = settings;
        partitions = Workload.partitions(request.get("seed").asLong(), request.get("userPartitions").asInt());
        segments = request.get("segments").asInt();
        inFlight = request.get("inFlight").asInt();
    }

    /** One mutation after the other, each awaited. */
    void latency(ObjectNode values) throws Exception {
        double[] adds = new double[segments];
        double[] updates = new double[segments];
        try (PeerManager manager = new PeerManager(settings)) {
            manager.lead(partitions);
            for (int i = 0; i < segments; i++) {
                RemoteLogSegmentMetadata segment = segment(i);
                long start = System.nanoTime();
                manager.kafka().addRemoteLogSegmentMetadata(segment).get();
                adds[i] = MeasureVerb.millisSince(start);
                start = System.nanoTime();
                manager.kafka().updateRemoteLogSegmentMetadata(Workload.finish(segment)).get();
                updates[i] = MeasureVerb.millisSince(start);
            }
        }
        percentiles(values, "add", adds);
        percentiles(values, "update", updates);
    }

    private static void percentiles(ObjectNode values, String name, double[] waits) {
        Arrays.sort(waits);
        values.put(name + ".p50", (waits[(waits.length - 1) / 2] + waits[waits.length / 2]) / 2);
        values.put(name + ".p99", waits[Math.min(waits.length - 1, (int) (waits.length * 0.99))]);
    }

    /** Each segment's update follows its add; so many segments are under way at a time. */
    void throughput(ObjectNode values) throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        try (PeerManager manager = new PeerManager(settings)) {
            manager.lead(partitions);
            Semaphore permits = new Semaphore(inFlight);
            long start = System.nanoTime();
            for (int i = 0; i < segments; i++) {
                permits.acquire();
                copy(manager.kafka(), segment(i), threads).whenComplete((done, e) -> {
                    failure.compareAndSet(null, e);
                    permits.release();
                });
            }
            permits.acquire(inFlight);
            values.put("mutations." + inFlight, 2 * segments / MeasureVerb.millisSince(start) * 1000);
        } finally {
            threads.shutdown();
        }
        if (failure.get() != null) {
            throw new IllegalStateException(failure.get());
        }
    }

    private RemoteLogSegmentMetadata segment(int i) {
        return Workload.segment(partitions.get(i % partitions.size()), i / partitions.size(), 0);
    }

    private static CompletableFuture<Void> copy(RemoteLogMetadataManager manager, RemoteLogSegmentMetadata segment,
                                                ExecutorService threads) throws RemoteStorageException {
        return manager.addRemoteLogSegmentMetadata(segment).thenComposeAsync(added -> {
            try {
                return manager.updateRemoteLogSegmentMetadata(Workload.finish(segment));
            } catch (RemoteStorageException e) {
                throw new CompletionException(e);
            }
        }, threads);
    }
}
