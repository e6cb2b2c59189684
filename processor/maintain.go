package processor

import (
	"context"
	"fmt"
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
	tick, look := time.NewTicker(i.cfg.MaintainEvery), time.NewTicker(min(checkEvery, i.cfg.MaintainEvery))
	defer tick.Stop()
	defer look.Stop()
	last := map[int32]int64{}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			err = i.lookForOthers(ctx, claims, last)
		case <-tick.C:
			err = i.maintainOnce(ctx, claims)
		}
		if err != nil && ctx.Err() == nil {
			i.log.Warn("maintenance failed, trying again later", "error", err)
		}
	}
}

// lookForOthers writes a position where the table goes on behind what this owner has
// written, and that has stood still since the last look: the answer tells whether
// somebody else wrote. An owner that has nothing else to write would learn it late, and
// readers would wait for it to repair what was written to.
func (i *instance) lookForOthers(ctx context.Context, claims []int32, last map[int32]int64) error {
	ends, err := i.cluster.EndOffsets(ctx, i.cfg.table(), claims)
	if err != nil {
		return err
	}
	for p, end := range ends {
		st, err := i.recovered(p)
		if err != nil {
			return err
		}
		have := st.Committed().Table
		before, looked := last[p]
		last[p] = have
		if !looked || have != before || end <= have+1 {
			continue
		}
		if err := i.writer.WritePosition(ctx, p, st.Position().Applied, i.identity); err != nil {
			if ctx.Err() == nil {
				i.end(fmt.Errorf("%w: %w", errTopicsChanged, err))
			}
			return err
		}
	}
	return nil
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
		if found[p], err = findPurgeable(ctx, st.Store, time.Now().Add(-i.cfg.PurgeAfter)); err != nil {
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
