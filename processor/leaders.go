package processor

import (
	"context"
	"slices"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// leader tells where a partition's records come from. As long as it stays the same, and a
// broker that is restarted isn't, nothing that was read can be gone.
type leader struct {
	epoch int32
	dials int64
}

// forgetLeaders is called before a session's first write, whose verifyInput learns who
// leads; what is applied is compared with the metadata topic after that: see place.
func (i *instance) forgetLeaders() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.leaders)
}

// verifyLeaders compares what is applied with the metadata topic where the leader isn't
// the one from before: records that were read may be gone, and others in their place.
func (i *instance) verifyLeaders(ctx context.Context, told []kafka.Topic, dials int64, partitions []int32) error {
	for _, p := range partitions {
		now := leader{epochOf(told, p), dials}
		i.mu.Lock()
		before, known := i.leaders[p]
		st := i.stores[p]
		i.mu.Unlock()
		if known && before != now && st != nil {
			if err := i.compareInput(ctx, p, st.Store); err != nil {
				return err
			}
		}
		i.mu.Lock()
		i.leaders[p] = now
		i.mu.Unlock()
	}
	return nil
}

// compareInput compares all whose answers are in the table or wait to be sent: the log may
// have lost what was read from the leader before.
func (i *instance) compareInput(ctx context.Context, p int32, st *store.Store) error {
	pending, committed := st.Pending(), st.Committed() // in this order: none is left out
	if err := table.CheckInput(ctx, i.cluster, i.cfg.MetadataTopic, p, committed); err != nil {
		return err
	}
	return table.CheckPending(ctx, i.cluster, i.cfg.MetadataTopic, p, pending)
}

// epochOf is a partition's leader epoch by the broker that knows most of it, its leader.
func epochOf(told []kafka.Topic, p int32) int32 {
	epochs := []int32{-1}
	for _, t := range told {
		epochs = append(epochs, t.LeaderEpoch(p))
	}
	return slices.Max(epochs)
}
