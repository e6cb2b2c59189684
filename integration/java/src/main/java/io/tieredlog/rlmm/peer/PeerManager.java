package io.tieredlog.rlmm.peer;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeoutException;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager;

/** Kafka's TopicBasedRemoteLogMetadataManager, set up as a broker would, for some partitions. */
final class PeerManager implements AutoCloseable {
    /** The name that Kafka's manager gives to its topic; it can't be changed. */
    static final String METADATA_TOPIC = "__remote_log_metadata";

    /** Greater than the id of any test broker, so that its client ids are its own. */
    private static final int BROKER_ID = 1001;
    private static final long READY_CHECK_MS = 5;

    /**
     * What a manager needs.
     *
     * @param partitions the partitions of the metadata topic; Kafka's manager refuses a topic with
     *                   another number
     */
    record Settings(String bootstrap, int partitions, Duration consumeWait, Duration readyWait) {
        Settings withPartitions(int count) {
            return new Settings(bootstrap, count, consumeWait, readyWait);
        }
    }

    private final TopicBasedRemoteLogMetadataManager manager = new TopicBasedRemoteLogMetadataManager();
    private final Duration readyWait;

    /** Starts a manager that creates the metadata topic when there is none. */
    PeerManager(Settings settings) {
        readyWait = settings.readyWait();
        manager.configure(config(settings));
        manager.onBrokerReady();
    }

    TopicBasedRemoteLogMetadataManager kafka() {
        return manager;
    }

    /** Makes this "broker" the leader of the partitions and returns when their events are replayed. */
    void lead(Collection<TopicIdPartition> partitions) throws InterruptedException, TimeoutException {
        manager.onPartitionLeadershipChanges(new HashSet<>(partitions), Set.of());
        long deadline = System.nanoTime() + readyWait.toNanos();
        for (TopicIdPartition partition : partitions) {
            awaitReady(partition, deadline);
        }
    }

    /** Kafka's manager tells nobody when it becomes ready: it has to be asked. */
    private void awaitReady(TopicIdPartition partition, long deadline) throws InterruptedException, TimeoutException {
        while (!manager.isReady(partition)) {
            if (System.nanoTime() > deadline) {
                throw new TimeoutException(partition + " is not ready after " + readyWait.toMillis() + " ms");
            }
            Thread.sleep(READY_CHECK_MS);
        }
    }

    private static Map<String, Object> config(Settings settings) {
        Map<String, Object> config = new HashMap<>();
        config.put("broker.id", BROKER_ID);
        config.put("cluster.id", "peer");
        config.put("log.dir", System.getProperty("java.io.tmpdir"));
        config.put("remote.log.metadata.common.client.bootstrap.servers", settings.bootstrap());
        config.put("remote.log.metadata.topic.num.partitions", settings.partitions());
        config.put("remote.log.metadata.topic.replication.factor", (short) 1);
        config.put("remote.log.metadata.topic.min.isr", (short) 1);
        config.put("remote.log.metadata.consume.wait.ms", settings.consumeWait().toMillis());
        return config;
    }

    @Override
    public void close() throws IOException {
        manager.close();
    }
}
