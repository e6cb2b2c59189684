package processor

import (
	"context"
	"time"
)

// writePositions writes down how far each partition's input is applied.
func (i *instance) writePositions(ctx context.Context, claims []int32) error {
	for _, p := range claims {
		st, err := i.recovered(p)
		if err != nil {
			return err
		}
		if err := i.writer.WritePosition(ctx, p, st.Position().Applied, i.identity); err != nil {
			return err
		}
	}
	return nil
}

// running tells that the session's partitions are being processed, and maintains them
// until the session ends.
func (i *instance) running(ctx context.Context, claims []int32) {
	i.stats.sessions.Add(1)
	i.log.Info("processing", "partitions", claims)
	i.onRunning(append([]int32{}, claims...)) // not nil: a member without partitions is one
	i.maintaining.Go(func() { i.maintain(ctx, claims) })
}

func (i *instance) stopped() { i.onRunning(nil) }

func (i *instance) maintain(ctx context.Context, claims []int32) {
	tick := time.NewTicker(i.cfg.MaintainEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := i.maintainOnce(ctx, claims); err != nil && ctx.Err() == nil {
			i.log.Warn("maintenance failed, trying again later", "error", err)
		}
	}
}

// maintainOnce writes the positions, and purges the markers that it found before that: a
// purge takes rows that may be the last to tell a position, so the position that is
// written and acknowledged must hold them all.
func (i *instance) maintainOnce(ctx context.Context, claims []int32) error {
	found := make(map[int32]purgeable, len(claims))
	for _, p := range claims {
		st, err := i.recovered(p)
		if err != nil {
			return err
		}
		if found[p], err = findPurgeable(ctx, st, time.Now().Add(-i.cfg.PurgeAfter)); err != nil {
			return err
		}
	}
	if err := i.writePositions(ctx, claims); err != nil {
		return err
	}
	for p, markers := range found {
		if len(markers) == 0 {
			continue
		}
		i.log.Info("purging markers", "partition", p, "markers", len(markers))
		if err := i.purge(ctx, p, markers); err != nil {
			return err
		}
	}
	return nil
}
