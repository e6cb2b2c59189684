package views_test

import (
	"context"
	"errors"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/views"
)

// The functions below are the code of docs/library.md, which a test compares. They are
// compiled, not run: Example runs those that open, add and close.
var _ = []any{openManager, assignPartitions, addSegment, worthRetry, stopManager}

func openManager(ctx context.Context, bootstrap []string, dir string) (*views.Manager, error) {
	return views.NewManager(ctx, views.Config{
		Kafka:       views.Kafka{Bootstrap: bootstrap},
		DataDir:     dir,
		ConsumeWait: 2 * time.Minute,
	})
}

func assignPartitions(ctx context.Context, m *views.Manager, mine []api.TopicIdPartition) error {
	var desired []int32
	for _, tip := range mine {
		desired = append(desired, codec.MetadataPartition(tip, m.MetadataPartitions()))
	}
	if err := m.ReconcileAssignment(ctx, desired); err != nil {
		return err
	}
	return m.WaitReady(ctx)
}

func addSegment(ctx context.Context, m *views.Manager, segment api.RemoteLogSegmentMetadata) error {
	_, err := m.AddRemoteLogSegmentMetadata(ctx, segment)
	var known *api.InvalidAddError
	if errors.As(err, &known) && known.AlreadyAdded(segment) {
		return nil // an earlier try is in
	}
	return err
}

func worthRetry(err error) bool {
	switch {
	case errors.Is(err, api.ErrClosed), errors.Is(err, api.ErrNotAssigned):
		return false
	case errors.Is(err, api.ErrTimeout), errors.Is(err, api.ErrUnacknowledged), errors.Is(err, api.ErrOutcomeUnknown):
		return true // it may be in: the retry says so
	case errors.Is(err, api.ErrNotReady), errors.Is(err, api.ErrPaused), errors.Is(err, api.ErrIO):
		return true // nothing was published
	}
	return false
}

func stopManager(ctx context.Context, m *views.Manager) error {
	return errors.Join(m.ShutdownAndFlush(ctx), m.Close())
}
