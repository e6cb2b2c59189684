package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/internal/backoff"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// newLoginPause is for logins that are refused: each may count against the user.
func newLoginPause() *backoff.Backoff { return backoff.New(time.Second, 10*time.Second) }

// newPause is the pause between sessions, or processors, that fail.
func newPause() *backoff.Backoff { return backoff.New(100*time.Millisecond, 2*time.Second) }

// group is the consumer group that goka gets. goka restarts nothing and sleeps five
// seconds between sessions: this one goes from session to session by itself, and
// returns only when the context ends or what went wrong can't heal.
type group struct {
	sarama.ConsumerGroup
	instance *instance
}

// Consume runs sessions until the context ends, the topics change, or an error that
// can't heal.
func (g group) Consume(ctx context.Context, topics []string, inner sarama.ConsumerGroupHandler) error {
	watched, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { g.instance.watch(watched, end) })
	defer watching.Wait()
	defer end(nil)
	for pause := newPause(); ; {
		err := g.ConsumerGroup.Consume(watched, topics, session{inner, g.instance})
		if ctx.Err() != nil {
			return nil
		}
		if watched.Err() != nil {
			err = context.Cause(watched)
		}
		err = kafka.Denied(err, "Read", kafka.OnGroup(g.instance.cfg.Group))
		if errors.Is(err, sarama.ErrFencedInstancedId) {
			err = sharedInstanceError{g.instance.cfg.InstanceID, err}
		}
		if fatal := g.instance.fatal(err); fatal != nil {
			return fatal
		}
		if errors.Is(err, sarama.ErrClosedConsumerGroup) || errors.Is(err, errTopicsChanged) {
			return err
		}
		if err == nil {
			continue
		}
		g.instance.log.Warn("session failed, trying again", "error", err)
		g.instance.stats.sessionsFailed.Add(1)
		g.instance.reconnect()
		if err := g.instance.checkLimits(watched); errors.Is(err, errTopicsChanged) {
			return err
		}
		pause.Wait(ctx)
	}
}

// reconnect closes the connections that the next session would use, idle meanwhile: see
// [kafka.Reconnect].
func (i *instance) reconnect() {
	var both sync.WaitGroup
	both.Go(i.writer.Reconnect)
	both.Go(i.cluster.Reconnect)
	both.Wait()
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
	began := time.Now()
	defer func() { s.giveUpIf(err) }()
	if err := s.checkTopics(sess.Context()); err != nil {
		return err
	}
	claims := sess.Claims()[s.cfg.MetadataTopic]
	s.forgetLeaders()
	fences, err := s.fence(sess.Context(), claims)
	if err != nil {
		return err
	}
	if err := s.ConsumerGroupHandler.Setup(sess); err != nil {
		return err
	}
	for _, p := range claims {
		next, err := s.start(sess.Context(), p, fences[p])
		if err != nil {
			return fmt.Errorf("partition %d: %w", p, err)
		}
		s.tellRecovery(p, began)
		// Each moves one way only.
		sess.ResetOffset(s.cfg.MetadataTopic, p, next, "")
		sess.MarkOffset(s.cfg.MetadataTopic, p, next, "")
	}
	s.running(sess.Context(), claims)
	return nil
}

// Cleanup fails the table's producers first: goka waits for what it has emitted. The
// maintenance must have ended before goka closes what it visits.
func (s session) Cleanup(sess sarama.ConsumerGroupSession) error {
	s.stopped()
	s.writer.Release()
	s.maintaining.Wait()
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

// start takes the recovered store over, writes down the position, and returns the input
// offset to go on from. What the group commits is in the table before: see
// [kafka.LostHeadError].
func (s session) start(ctx context.Context, p int32, fence int64) (next int64, err error) {
	st, err := s.recovered(p)
	if err != nil {
		return 0, err
	}
	if err := st.GoLive(fence); err != nil {
		return 0, err
	}
	if next, err = s.place(ctx, p, st.Position()); err != nil {
		return 0, err
	}
	if err := s.writer.Start(p, st.Store); err != nil {
		return 0, err
	}
	if err := s.repair(ctx, p, st, next-1); err != nil {
		return 0, err
	}
	return next, s.writer.WritePosition(ctx, p, next-1, s.identity)
}

// place returns the input offset to go on from.
func (i *instance) place(ctx context.Context, p int32, at store.Position) (int64, error) {
	applied := at.Applied
	if err := table.CheckInput(ctx, i.cluster, i.cfg.MetadataTopic, p, at); err != nil {
		return 0, err
	}
	start, err := i.cluster.StartOffset(ctx, i.cfg.MetadataTopic, p)
	if err != nil || applied+1 >= start {
		return applied + 1, err
	}
	if err := i.gap(ctx, p, applied, start); err != nil {
		return 0, err
	}
	return start, nil
}

// gap counts that the input begins behind what is applied. With nothing applied it is
// where a new fleet begins, but not one whose table is lost.
func (i *instance) gap(ctx context.Context, p int32, applied, start int64) error {
	if applied < 0 {
		committed, err := i.cluster.CommittedOffset(ctx, i.cfg.Group, i.cfg.MetadataTopic, p)
		if err != nil {
			return err
		}
		if committed > 0 {
			return &kafka.LostHeadError{Topic: i.cfg.MetadataTopic, Partition: p, Start: start, Committed: committed}
		}
	}
	i.stats.gaps.Add(1)
	i.log.Warn("events are gone before they were applied", "partition", p, "applied", applied, "start", start)
	return nil
}
