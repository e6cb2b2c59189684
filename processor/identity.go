package processor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// checkEvery is how often a running processor looks whether its topics are still the
// same ones. Kafka's clients go by names and read on in a topic that was deleted and
// created again.
const checkEvery = 5 * time.Second

// errTopicsChanged ends an instance whose topics aren't as it found them; the next one
// finds them as they are.
var errTopicsChanged = errors.New("the topics have changed")

// checkTopics returns an [store.IdentityError] for another metadata topic than the one
// that the instance began with, and errTopicsChanged for all else that has changed.
func (i *instance) checkTopics(ctx context.Context) error {
	input, err := i.cluster.Topic(ctx, i.cfg.MetadataTopic)
	if err != nil {
		return topicError(err)
	}
	rows, err := i.cluster.Topic(ctx, i.cfg.table())
	if err != nil {
		return topicError(err)
	}
	now := store.Identity{ClusterID: i.cluster.ID(), MetadataTopicID: input.ID, TableTopicID: rows.ID}
	switch {
	case now.MetadataTopicID != i.identity.MetadataTopicID:
		return &store.IdentityError{Have: i.identity, Want: now}
	case now != i.identity:
		return fmt.Errorf("%w: the table was created again", errTopicsChanged)
	case input.Partitions != i.partitions:
		return fmt.Errorf("%w: %s has %d partitions now", errTopicsChanged, input.Name, input.Partitions)
	}
	return nil
}

func topicError(err error) error {
	if errors.Is(err, kafka.ErrNoTopic) {
		return fmt.Errorf("%w: %w", errTopicsChanged, err)
	}
	return err
}

// watch checks the topics until the context ends, which it ends itself when they have
// changed.
func (i *instance) watch(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(min(checkEvery, i.cfg.MaintainEvery))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := i.checkTopics(ctx); errors.Is(err, errTopicsChanged) || err != nil && !kafka.CanHeal(err) {
			end(err)
			return
		}
	}
}

// missingTopicError is a topic that isn't there and that the processor may not create.
type missingTopicError struct{ error }

func (e missingTopicError) Error() string {
	return e.error.Error() + ", and the processor was told to create none"
}

func (e missingTopicError) Unwrap() error { return e.error }

// Unhealable marks the error.
func (missingTopicError) Unhealable() {}

// UnfencedError says that a partition of the table doesn't begin with a fence, which is
// every owner's first record. So the table was deleted and created again while an owner
// went on writing, and the rows that its record stands on are nowhere.
type UnfencedError struct {
	Table     string
	Partition int32
}

// Error names the remedy.
func (e *UnfencedError) Error() string {
	return fmt.Sprintf("%s/%d doesn't begin with a fence: the table was created again under a running processor; `rlmm reset` clears table and group",
		e.Table, e.Partition)
}

// Unhealable marks the error.
func (*UnfencedError) Unhealable() {}

// CheckFenced returns an [UnfencedError] for the record at the table offset when it
// shows that the table lacks what came before it.
func CheckFenced(r table.Record, topic string, partition int32, offset int64) error {
	if offset == 0 && r.Kind != table.Fence {
		return &UnfencedError{topic, partition}
	}
	return nil
}
