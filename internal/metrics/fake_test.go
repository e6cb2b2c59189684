package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

// fakeConsumer has four metadata partitions, of which one is of each state.
func fakeConsumer() Consumer {
	partition := func(number int32, state api.State, applied, end int64, stale time.Duration, err error) api.PartitionStatus {
		return api.PartitionStatus{
			Freshness: api.Freshness{MetadataPartition: number, Applied: applied, Staleness: stale},
			State:     state, End: end, Lag: max(0, end-1-applied), Err: err,
		}
	}
	var counter store.ResetCounter
	counter.Add(store.ResetGap)
	return Consumer{
		Ready: func() error { return errors.New("one has failed") },
		Status: func() api.Status {
			return api.Status{State: api.StateFailed, Partitions: []api.PartitionStatus{
				partition(0, api.StateRunning, 9, 10, 0, nil),
				partition(3, api.StatePaused, 5, 10, 90*time.Second, nil),
				partition(4, api.StateRecovering, -1, 3, time.Second, nil),
				partition(7, api.StateFailed, 20, 10, 0, &kafka.TruncatedError{Topic: "t", Partition: 7, Applied: 20, End: 10}),
			}}
		},
		Counts: func() Counts {
			return Counts{
				Resets: counter.Counts(), Restarts: map[string]int64{"failed": 2, "requested": 1},
				Stale: 3, Foreign: 4, StoreBytes: 5, OpenFiles: 6,
			}
		},
	}
}

func fakeEvents() Events {
	return Events{
		Applied:  []Applied{{"segment", "COPY_SEGMENT_STARTED", 11}},
		Outcomes: map[codec.Outcome]int64{codec.OutcomeApplied: 11, codec.OutcomeUndecodable: 2, codec.OutcomeTooLarge: 1},
		Sessions: 7, Gaps: 8,
	}
}

func fakeSegments() (Segments, error) {
	return Segments{
		Segments: map[api.RemoteLogSegmentState]int64{api.CopySegmentStarted: 1, api.CopySegmentFinished: 2, api.DeleteSegmentStarted: 3},
		Bytes:    map[api.RemoteLogSegmentState]int64{api.CopySegmentStarted: 10, api.CopySegmentFinished: 20, api.DeleteSegmentStarted: 30},
		Headless: 4, OfDeleted: 5,
	}, nil
}

// everything registers all there is, but for Go's and the process's own.
func everything(o Options, m Manager) (*prometheus.Registry, Manager) {
	reg := prometheus.NewRegistry()
	registerBuild(reg, Build{"v1", "abc", "go1"})
	RegisterProcessor(reg, Processor{Consumer: fakeConsumer(), Events: fakeEvents}, o)
	RegisterViews(reg, Views{Consumer: fakeConsumer(), Segments: fakeSegments}, o)
	for _, role := range []Role{RoleProcessor, RoleView} {
		NewRecoveries(reg, role).Observe(store.Recovery{FromStore: true, Records: 3, Duration: time.Second})
	}
	RegisterTopics(reg).Set(map[string]bool{"retention": true, "min_isr": false})
	return reg, Measure(reg, m)
}
