package main

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/bench"
	"github.com/tieredlog/rlmm/views"
)

// askedAtOnce is how many questions there are between looks at the clock.
const askedAtOnce = 64

var errWrongAnswer = errors.New("a wrong answer")

// asker asks a manager about two partitions of so many segments.
type asker struct {
	ctx                  context.Context
	m                    *views.Manager
	oneEpoch, manyEpochs api.TopicIdPartition
	request              bench.Request
	end                  int64 // the offset behind the last segment
	rates                values
}

func queries(ctx context.Context, r bench.Request) (values, error) {
	partitions := bench.UserPartitions(r.Seed, 2)
	return with(ctx, r, metadataPartitions(partitions), func(m *views.Manager) (values, error) {
		a := asker{
			ctx: ctx, m: m, oneEpoch: partitions[0], manyEpochs: partitions[1], request: r, rates: values{},
		}
		a.end = bench.Segment(a.oneEpoch, api.UUID{}, r.Segments-1, 0).EndOffset + 1
		return a.rates, errors.Join(a.lookUps(), a.lists())
	})
}

// lookups asks for segments at random places of a workload whose partitions have so many
// segments together. Each partition was asked before: the first question builds its index.
func lookups(ctx context.Context, r bench.Request) (values, error) {
	partitions := bench.UserPartitions(r.Seed, r.UserPartitions)
	return with(ctx, r, metadataPartitions(partitions), func(m *views.Manager) (values, error) {
		for _, tip := range partitions {
			if _, _, err := m.HighestOffsetForEpoch(ctx, tip, 0); err != nil {
				return nil, err
			}
		}
		rate, err := measureRate(1, r, func() bool {
			at := rand.IntN(r.Segments)
			tip, i := partitions[at%len(partitions)], at/len(partitions)
			s := bench.Segment(tip, api.UUID{}, i, bench.EpochOf(i))
			_, found, err := m.RemoteLogSegmentMetadata(ctx, tip, bench.EpochOf(i), s.StartOffset)
			return found && err == nil
		})
		return values{"lookup": rate}, err
	})
}

func (a *asker) lookUps() error {
	err := errors.Join(
		a.rate("get.1", 1, a.get), a.rate("get.2", 2, a.get),
		a.rate("get.epochs", 1, a.getOfEpoch), a.rate("get.miss", 1, a.getNone),
		a.rate("highest", 1, a.highest), a.rate("nextTxn", 1, a.nextTxn))
	a.rates["get.scaling"] = a.rates["get.2"] / a.rates["get.1"]
	return err
}

func (a *asker) lists() error {
	return errors.Join(
		a.rate("list.iterated", 1, func() bool { return a.read(a.m.Segments(a.ctx, a.oneEpoch, nil)) }),
		a.rate("list.slice", 1, func() bool { return a.readAll(a.m.ListRemoteLogSegments(a.ctx, a.oneEpoch)) }),
		a.rate("listEpoch.iterated", 1, func() bool { return a.read(a.m.SegmentsByEpoch(a.ctx, a.oneEpoch, 0, nil)) }),
		a.rate("listEpoch.slice", 1, func() bool {
			return a.readAll(a.m.ListRemoteLogSegmentsByEpoch(a.ctx, a.oneEpoch, 0))
		}),
		a.rate("size", 1, a.size))
}

func (a *asker) get() bool {
	_, found, err := a.m.RemoteLogSegmentMetadata(a.ctx, a.oneEpoch, 0, rand.Int64N(a.end))
	return found && err == nil
}

func (a *asker) getOfEpoch() bool {
	epoch, offset := a.randomEpoch()
	_, found, err := a.m.RemoteLogSegmentMetadata(a.ctx, a.manyEpochs, epoch, offset)
	return found && err == nil
}

func (a *asker) getNone() bool {
	_, found, err := a.m.RemoteLogSegmentMetadata(a.ctx, a.oneEpoch, 0, a.end+5)
	return !found && err == nil
}

func (a *asker) highest() bool {
	epoch := bench.EpochOf(rand.IntN(a.request.Segments))
	_, found, err := a.m.HighestOffsetForEpoch(a.ctx, a.manyEpochs, epoch)
	return found && err == nil
}

func (a *asker) nextTxn() bool {
	_, found, err := a.m.NextSegmentWithTxnIndex(a.ctx, a.oneEpoch, 0, rand.Int64N(a.end*9/10))
	return found && err == nil
}

func (a *asker) size() bool {
	bytes, err := a.m.RemoteLogSize(a.ctx, a.oneEpoch, 0)
	return bytes == int64(a.request.Segments)*bench.SegmentBytes && err == nil
}

// randomEpoch returns an offset and the epoch that wrote it.
func (a *asker) randomEpoch() (int32, int64) {
	i := rand.IntN(a.request.Segments)
	return bench.EpochOf(i), int64(i) * a.end / int64(a.request.Segments)
}

func (a *asker) readAll(list []api.RemoteLogSegmentMetadata, err error) bool {
	return err == nil && a.read(func(yield func(api.RemoteLogSegmentMetadata, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	})
}

// read reads every field of all segments.
func (a *asker) read(list iter.Seq2[api.RemoteLogSegmentMetadata, error]) bool {
	count, sum := 0, int64(0)
	for s, err := range list {
		if err != nil {
			return false
		}
		sum += fields(&s)
		count++
	}
	return count == a.request.Segments && sum != 0
}

func fields(s *api.RemoteLogSegmentMetadata) int64 {
	sum := s.StartOffset + s.EndOffset + s.MaxTimestampMs + s.EventTimestampMs +
		int64(s.BrokerID) + int64(s.SegmentSizeInBytes) + int64(s.State)
	if s.TxnIndexEmpty {
		sum++
	}
	if s.CustomMetadata.Present() {
		sum++
	}
	tip := s.ID.TopicIdPartition
	sum += int64(s.ID.ID[15]) + int64(tip.TopicID[15]) + int64(tip.Partition) + int64(len(tip.Topic))
	for i := range s.LeaderEpochs.Len() {
		e := s.LeaderEpochs.At(i)
		sum += int64(e.LeaderEpoch) + e.Offset
	}
	return sum
}

// rate notes how often the question is answered in a second.
func (a *asker) rate(key string, threads int, ask func() bool) (err error) {
	a.rates[key], err = measureRate(threads, a.request, ask)
	return err
}

// measureRate asks in so many goroutines and returns the answers a second, of all
// together, after a time to warm up.
func measureRate(threads int, r bench.Request, ask func() bool) (float64, error) {
	if _, err := askAll(threads, ask, time.Duration(r.WarmUpMs)*time.Millisecond); err != nil {
		return 0, err
	}
	return askAll(threads, ask, time.Duration(r.MeasureMs)*time.Millisecond)
}

func askAll(threads int, ask func() bool, d time.Duration) (float64, error) {
	rates := make([]float64, threads)
	var asking errgroup.Group
	for i := range rates {
		asking.Go(func() (err error) {
			rates[i], err = askFor(ask, d)
			return err
		})
	}
	err := asking.Wait()
	sum := 0.0
	for _, rate := range rates {
		sum += rate
	}
	return sum, err
}

func askFor(ask func() bool, d time.Duration) (float64, error) {
	asked, start := 0, time.Now()
	for time.Since(start) < d {
		for range askedAtOnce {
			if !ask() {
				return 0, errWrongAnswer
			}
		}
		asked += askedAtOnce
	}
	return float64(asked) / time.Since(start).Seconds(), nil
}
