package processor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"

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

// checkTopics returns a [kafka.DeniedError] when the metadata topic may not be read, a
// [store.IdentityError] for another metadata topic than the one
// that the instance began with, a [kafka.MismatchError] for a table whose head retention
// may take, and errTopicsChanged for all else that has changed.
func (i *instance) checkTopics(ctx context.Context) error {
	input, err := i.cluster.Topic(ctx, i.cfg.MetadataTopic)
	if err != nil {
		return topicError(err)
	}
	rows, err := i.cluster.Topic(ctx, i.cfg.table())
	if err != nil {
		return topicError(err)
	}
	if _, err := i.cluster.Topic(ctx, i.cfg.rejected()); err != nil {
		return topicError(err)
	}
	now := store.Identity{ClusterID: i.cluster.ID(), MetadataTopicID: input.ID, TableTopicID: rows.ID}
	switch {
	case now.MetadataTopicID != i.identity.MetadataTopicID:
		return &store.IdentityError{Have: i.identity, Want: now}
	case now != i.identity:
		return fmt.Errorf("%w: the table was created again", errTopicsChanged)
	}
	for _, t := range []kafka.Topic{input, rows} {
		if t.Partitions != i.partitions {
			return fmt.Errorf("%w: %s has %d partitions now", errTopicsChanged, t.Name, t.Partitions)
		}
	}
	if err := i.cluster.CheckPolicy(ctx, rows.Name, kafka.Compact); err != nil {
		return err
	}
	return i.cluster.MayRead(ctx, input.Name)
}

// topicManager is goka's view of the cluster, and looks where the table begins before
// goka reads it.
type topicManager struct {
	kafka.TopicManager
	instance *instance
}

// GetOffset is asked where the table begins and ends before it is read: goka would go on
// where it begins.
func (m topicManager) GetOffset(topic string, partition int32, at int64) (int64, error) {
	offset, err := m.TopicManager.GetOffset(topic, partition, at)
	st, ok := m.instance.opened(partition)
	if err == nil && ok && at == sarama.OffsetOldest {
		if err = table.CheckHead(topic, partition, offset, st.Position().Table); err != nil {
			m.instance.end(err) // goka would try again
		}
	}
	return offset, err
}

// verifyInput returns an [store.IdentityError] when the metadata topic isn't the one any
// more that the instance began with, and a [kafka.RegrownError] when it lost its end with its
// leader and grew again. It is asked after records of these partitions were
// fetched and before what follows from them is written: a topic id never comes back, so
// those records are of that topic. The looks in between only tell sooner. What is written
// again may have waited long.
func (i *instance) verifyInput(ctx context.Context, partitions []int32, again bool) error {
	topics, dials, err := i.proofs.TopicAtLeaders(ctx, i.cluster, partitions, again)
	for _, t := range topics {
		if t.ID != i.identity.MetadataTopicID {
			now := i.identity
			now.MetadataTopicID = t.ID
			err = &store.IdentityError{Have: i.identity, Want: now}
		}
	}
	if err == nil {
		err = i.verifyLeaders(ctx, topics, dials, partitions)
	}
	i.giveUpIf(err) // goka wraps without unwrapping
	return err
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
		case err := <-i.changed:
			end(err)
			return
		case <-tick.C:
		}
		if err := i.checkTopics(ctx); errors.Is(err, errTopicsChanged) || err != nil && !kafka.CanHeal(err) {
			end(err)
			return
		}
		i.look(ctx)
	}
}

// missingTopicError is a topic that isn't there and that the processor may not create.
type missingTopicError struct{ error }

func (e missingTopicError) Error() string {
	return e.error.Error() + ", and the processor creates topics only when it is told to (--create-topics)"
}

func (e missingTopicError) Unwrap() error { return e.error }

// Unhealable marks the error.
func (missingTopicError) Unhealable() {}

// partitionsError is a table with another partition count than the metadata topic has.
type partitionsError struct {
	*kafka.MismatchError
	input string
}

// Error names the remedy, which depends on which topic was changed.
func (e partitionsError) Error() string {
	return fmt.Sprintf("%s as %s has: when the table was changed, `rlmm reset` clears table and group; when %s was, it is of no use any more, since its events lie where the old count put them: delete it and create it anew, then `rlmm reset`",
		e.MismatchError.Error(), e.input, e.input)
}

func (e partitionsError) Unwrap() error { return e.MismatchError }

// sharedInstanceError says that another process has joined the group as the static member
// that this one was (FENCED_INSTANCE_ID, KIP-345): the two would end each other for ever.
type sharedInstanceError struct {
	id  string
	err error
}

// Error names the remedy.
func (e sharedInstanceError) Error() string {
	return fmt.Sprintf("another process has joined the group with this one's group.instance.id %q: give each processor its own (--instance-id), or none: %v", e.id, e.err)
}

func (e sharedInstanceError) Unwrap() error { return e.err }

// Unhealable marks the error.
func (sharedInstanceError) Unhealable() {}
