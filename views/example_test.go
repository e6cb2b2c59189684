package views_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/embedded"
	"github.com/tieredlog/rlmm/processor"
	"github.com/tieredlog/rlmm/views"
)

// A broker's process embeds a Manager: it assigns the metadata partitions of what the
// broker leads and follows, writes what the broker uploads, and answers its questions.
func Example() {
	ctx := context.Background()
	bootstrap, dir, stop := startFleet() // of processors, on a Kafka cluster
	defer stop()

	m, err := views.NewManager(ctx, views.Config{Kafka: views.Kafka{Bootstrap: bootstrap}, DataDir: dir})
	check(err)
	defer m.Close()
	orders := api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "orders", Partition: 0}
	check(m.ReconcileAssignment(ctx, []int32{codec.MetadataPartition(orders, m.MetadataPartitions())}))
	check(m.WaitReady(ctx))

	id := api.RemoteLogSegmentID{TopicIdPartition: orders, ID: api.RandomUUID()}
	epochs := api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: 0})
	_, err = m.AddRemoteLogSegmentMetadata(ctx, api.RemoteLogSegmentMetadata{ID: id, EndOffset: 99, LeaderEpochs: epochs})
	check(err)
	_, err = m.UpdateRemoteLogSegmentMetadata(ctx, api.RemoteLogSegmentMetadataUpdate{ID: id, State: api.CopySegmentFinished})
	check(err)
	segment, found, err := m.RemoteLogSegmentMetadata(ctx, orders, 0, 42)
	check(err)
	fmt.Println(found, segment.StartOffset, segment.EndOffset, segment.State)
	// Output: true 0 99 COPY_SEGMENT_FINISHED
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// startFleet starts an embedded broker and a processor. It returns the broker's address,
// a folder for a manager, and what ends and removes it all.
func startFleet() (bootstrap []string, dir string, stop func()) {
	broker, err := embedded.Start(embedded.Config{})
	check(err)
	dir, err = os.MkdirTemp("", "rlmm-example")
	check(err)
	bootstrap = []string{broker.Addr()}
	p, err := processor.New(processor.Config{
		Kafka: processor.Kafka{Bootstrap: bootstrap}, DataDir: dir,
		CreateTopics: true, ReplicationFactor: 1, Logger: slog.New(slog.DiscardHandler),
	})
	check(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	_, err = p.WaitRunning(ctx)
	check(err)
	return bootstrap, dir, func() {
		cancel()
		check(<-done)
		broker.Close()
		check(os.RemoveAll(dir))
	}
}
