package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

// maxPause bounds the pause between sessions that fail.
const maxPause = 5 * time.Second

// group is the consumer group that goka gets. goka restarts nothing and sleeps five
// seconds between sessions: this one goes from session to session by itself, and
// returns only when the context ends or what went wrong can't heal.
type group struct {
	sarama.ConsumerGroup
	instance *instance
}

// Consume runs sessions until the context ends or an error that can't heal.
func (g group) Consume(ctx context.Context, topics []string, inner sarama.ConsumerGroupHandler) error {
	pause := 100 * time.Millisecond
	for {
		started := time.Now()
		err := g.ConsumerGroup.Consume(ctx, topics, session{inner, g.instance})
		if ctx.Err() != nil {
			return nil
		}
		if fatal := g.instance.fatal(err); fatal != nil {
			return fatal
		}
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return err
		}
		if err == nil {
			continue
		}
		if time.Since(started) > time.Minute {
			pause = 100 * time.Millisecond
		}
		g.instance.log.Warn("session failed, trying again", "error", err, "pause", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		}
	}
}

// session wraps goka's handler of one session with the rules of exactly once.
type session struct {
	sarama.ConsumerGroupHandler
	*instance
}

// Setup fences the partitions' former owners, lets goka recover the stores, and starts
// each partition behind what its recovered state has applied, whatever the group had
// committed: offsets are committed apart from state.
func (s session) Setup(sess sarama.ConsumerGroupSession) (err error) {
	defer func() { s.giveUpIf(err) }()
	claims := sess.Claims()[s.cfg.MetadataTopic]
	fences, err := s.fence(sess.Context(), claims)
	if err != nil {
		return err
	}
	if err := s.ConsumerGroupHandler.Setup(sess); err != nil {
		return err
	}
	for _, p := range claims {
		if err := s.start(sess, p, fences[p]); err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
	}
	if err := s.writePositions(sess.Context(), claims); err != nil {
		return err
	}
	s.running(sess.Context(), claims)
	return nil
}

// Cleanup fails the table's producers first: goka waits for what it has emitted.
func (s session) Cleanup(sess sarama.ConsumerGroupSession) error {
	s.stopped()
	s.writer.Release()
	return s.ConsumerGroupHandler.Cleanup(sess)
}

func (s session) fence(ctx context.Context, claims []int32) (map[int32]int64, error) {
	var mu sync.Mutex
	fences := make(map[int32]int64, len(claims))
	eg, ctx := errgroup.WithContext(ctx)
	for _, p := range claims {
		eg.Go(func() error {
			offset, err := s.writer.Acquire(ctx, p, s.identity)
			mu.Lock()
			defer mu.Unlock()
			fences[p] = offset
			return err
		})
	}
	return fences, eg.Wait()
}

// start takes the recovered store over and places the input behind it.
func (s session) start(sess sarama.ConsumerGroupSession, p int32, fence int64) error {
	st, err := s.recovered(p)
	if err != nil {
		return err
	}
	if err := st.GoLive(fence); err != nil {
		return err
	}
	next, err := s.place(sess.Context(), p, st.Position().Applied)
	if err != nil {
		return err
	}
	if err := s.writer.Start(p, st); err != nil {
		return err
	}
	// Each moves one way only.
	sess.ResetOffset(s.cfg.MetadataTopic, p, next, "")
	sess.MarkOffset(s.cfg.MetadataTopic, p, next, "")
	return nil
}

// place returns the input offset to go on from.
func (i *instance) place(ctx context.Context, p int32, applied int64) (int64, error) {
	end, err := i.cluster.EndOffset(ctx, i.cfg.MetadataTopic, p)
	if err != nil {
		return 0, err
	}
	if applied >= end {
		return 0, &TruncatedError{Topic: i.cfg.MetadataTopic, Partition: p, Applied: applied, End: end}
	}
	start, err := i.cluster.StartOffset(ctx, i.cfg.MetadataTopic, p)
	if err != nil {
		return 0, err
	}
	if applied+1 < start && applied >= 0 {
		i.stats.gaps.Add(1)
		i.log.Warn("events are gone before they were applied", "partition", p, "applied", applied, "start", start)
	}
	return max(applied+1, start), nil
}

// TruncatedError says that the metadata topic ends before what the state has applied.
type TruncatedError struct {
	Topic        string
	Partition    int32
	Applied, End int64
}

// Error names the remedy.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("%s/%d ends at %d, but the state has applied %d: the topic was truncated or created again; `rlmm reset` clears table and group",
		e.Topic, e.Partition, e.End, e.Applied)
}

// canHeal tells whether an error may go away by itself.
func canHeal(err error) bool {
	var truncated *TruncatedError
	var identity *store.IdentityError
	return !errors.As(err, &truncated) && !errors.As(err, &identity) && !kafka.IsFatal(err)
}
