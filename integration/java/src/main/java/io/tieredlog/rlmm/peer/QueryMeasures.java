package io.tieredlog.rlmm.peer;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;

/** How often Kafka's manager answers a question, on two partitions of so many segments. */
final class QueryMeasures {
    private static final int QUESTIONS_BETWEEN_LOOKS_AT_THE_CLOCK = 64;

    /** A question with its answer checked. */
    private interface Question {
        void ask() throws RemoteStorageException;
    }

    private final PeerManager.Settings settings;
    private final TopicIdPartition oneEpoch;
    private final TopicIdPartition manyEpochs;
    private final int segments;
    private final long warmUpNanos;
    private final long measureNanos;

    /** What is read of lists ends here, so that no compiler can leave the reading out. */
    private volatile long sink;

    QueryMeasures(PeerManager.Settings settings, JsonNode request) {
        this.settings = settings;
        long seed = request.get("seed").asLong();
        oneEpoch = Workload.partition(seed, 0);
        manyEpochs = Workload.partition(seed, 1);
        segments = request.get("segments").asInt();
        warmUpNanos = request.get("warmUpMs").asLong() * 1_000_000;
        measureNanos = request.get("measureMs").asLong() * 1_000_000;
    }

    void run(ObjectNode values) throws Exception {
        try (PeerManager manager = new PeerManager(settings)) {
            manager.lead(List.of(oneEpoch, manyEpochs));
            lookUps(values, manager.kafka());
            lists(values, manager.kafka());
        }
    }

    private void lookUps(ObjectNode values, RemoteLogMetadataManager manager) throws Exception {
        long end = (long) segments * Workload.OFFSETS_OF_SEGMENT;
        Question get = () -> require(manager.remoteLogSegmentMetadata(oneEpoch, 0, random(end)).isPresent());
        double one = rate(get, 1);
        double two = rate(get, 2);
        values.put("get.1", one).put("get.2", two).put("get.scaling", two / one);
        values.put("get.epochs", rate(() -> {
            long offset = random(end);
            require(manager.remoteLogSegmentMetadata(manyEpochs, epochOf(offset), offset).isPresent());
        }, 1));
        values.put("get.miss", rate(() ->
            require(manager.remoteLogSegmentMetadata(oneEpoch, 0, end + 5).isEmpty()), 1));
        values.put("highest", rate(() ->
            require(manager.highestOffsetForEpoch(manyEpochs, epochOf(random(end))).isPresent()), 1));
        values.put("nextTxn", rate(() ->
            require(manager.nextSegmentWithTxnIndex(oneEpoch, 0, random(end * 9 / 10)).isPresent()), 1));
    }

    private void lists(ObjectNode values, RemoteLogMetadataManager manager) throws Exception {
        double all = rate(() -> read(manager.listRemoteLogSegments(oneEpoch)), 1);
        values.put("list.iterated", all).put("list.slice", all);
        double epoch = rate(() -> read(manager.listRemoteLogSegments(oneEpoch, 0)), 1);
        values.put("listEpoch.iterated", epoch).put("listEpoch.slice", epoch);
        long bytes = (long) segments * Workload.SEGMENT_BYTES;
        values.put("size", rate(() -> require(manager.remoteLogSize(oneEpoch, 0) == bytes), 1));
    }

    private static int epochOf(long offset) {
        return (int) (offset / Workload.OFFSETS_OF_SEGMENT / Workload.SEGMENTS_OF_EPOCH);
    }

    private static long random(long bound) {
        return ThreadLocalRandom.current().nextLong(bound);
    }

    private static void require(boolean isSo) {
        if (!isSo) {
            throw new IllegalStateException("a wrong answer");
        }
    }

    /** Reads every field. */
    private void read(Iterator<RemoteLogSegmentMetadata> list) {
        int count = 0;
        long sum = 0;
        while (list.hasNext()) {
            sum += fields(list.next());
            count++;
        }
        sink = sum;
        require(count == segments);
    }

    private static long fields(RemoteLogSegmentMetadata segment) {
        long sum = segment.startOffset() + segment.endOffset() + segment.maxTimestampMs() + segment.eventTimestampMs()
            + segment.brokerId() + segment.segmentSizeInBytes() + segment.state().id();
        sum += segment.isTxnIdxEmpty() ? 1 : 0;
        sum += segment.customMetadata().isPresent() ? 1 : 0;
        sum += segment.remoteLogSegmentId().id().getLeastSignificantBits();
        TopicIdPartition partition = segment.remoteLogSegmentId().topicIdPartition();
        sum += partition.topicId().getLeastSignificantBits() + partition.partition() + partition.topic().length();
        for (Map.Entry<Integer, Long> epoch : segment.segmentLeaderEpochs().entrySet()) {
            sum += epoch.getKey() + epoch.getValue();
        }
        return sum;
    }

    /** Questions a second, of all threads together, after a time to warm up. */
    private double rate(Question question, int threads) throws Exception {
        ask(question, threads, warmUpNanos);
        return ask(question, threads, measureNanos);
    }

    private static double ask(Question question, int threads, long nanos) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List<Callable<Double>> asking = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                asking.add(() -> ask(question, nanos));
            }
            double sum = 0;
            for (Future<Double> rate : pool.invokeAll(asking)) {
                sum += rate.get();
            }
            return sum;
        } finally {
            pool.shutdown();
        }
    }

    private static double ask(Question question, long nanos) throws RemoteStorageException {
        long start = System.nanoTime();
        long asked = 0;
        while (System.nanoTime() - start < nanos) {
            for (int i = 0; i < QUESTIONS_BETWEEN_LOOKS_AT_THE_CLOCK; i++) {
                question.ask();
            }
            asked += QUESTIONS_BETWEEN_LOOKS_AT_THE_CLOCK;
        }
        return asked / MeasureVerb.millisSince(start) * 1000;
    }
}
