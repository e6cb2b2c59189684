package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tieredlog/rlmm/api"
)

// Views is a manager of views.
type Views struct {
	Consumer
	// Segments counts what is stored; an error is shown as no value.
	Segments func() (Segments, error)
}

// Segments count segments, and their bytes, in the metadata partitions that are ready.
type Segments struct {
	Segments, Bytes     map[api.RemoteLogSegmentState]int64
	Headless, OfDeleted int64
}

var (
	segments     = gauge("rlmm_segments", "Segments in the metadata partitions that are ready, by state.", "state")
	segmentBytes = gauge("rlmm_segment_bytes", "Size in bytes of the segments in the metadata partitions that are ready, by state.", "state")
	orphans      = gauge("rlmm_orphan_segments", "Segments in the metadata partitions that are ready whose remote objects may be left for good, by kind: headless (a deletion was started of what was never added), deleted_partition (nobody deletes it any more).", "kind")
)

type views struct {
	consumer
	segments func() (Segments, error)
}

// RegisterViews shows a manager of views.
func RegisterViews(reg prometheus.Registerer, v Views, o Options) {
	RoleView.wrap(reg).MustRegister(views{newConsumer(v.Consumer, o), v.Segments})
}

// Describe implements [prometheus.Collector].
func (v views) Describe(to chan<- *prometheus.Desc) {
	v.consumer.Describe(to)
	describe(to, segments, segmentBytes, orphans)
}

// Collect implements [prometheus.Collector].
func (v views) Collect(to chan<- prometheus.Metric) {
	v.consumer.Collect(to)
	n, err := v.segments()
	if err != nil {
		return // the store can't be read, which the status tells
	}
	s := sink(to)
	for state, count := range n.Segments {
		s.put(segments, float64(count), state.String())
		s.put(segmentBytes, float64(n.Bytes[state]), state.String())
	}
	s.put(orphans, float64(n.Headless), "headless")
	s.put(orphans, float64(n.OfDeleted), "deleted_partition")
}
