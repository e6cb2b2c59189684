package bench

// Measure is something that is measured, and what must come out.
type Measure struct {
	// Key names its value in an [Answer].
	Key  string
	Name string
	Unit string
	// Lower tells that less is better.
	Lower bool
	// Ratio is how many times better than Kafka's manager ours must be; 0 when nothing
	// is asked.
	Ratio float64
	// Bound is what our value must reach, or must not exceed when Lower; 0 when nothing
	// is asked.
	Bound float64
}

// Better returns how many times better ours is than the peer's: above 1 when it is.
func (m Measure) Better(ours, peer float64) float64 {
	if m.Lower {
		return peer / ours
	}
	return ours / peer
}

// asked tells whether the measure has a target.
func (m Measure) asked() bool { return m.Ratio > 0 || m.Bound > 0 }

// met tells whether the target is reached.
func (m Measure) met(ours, ratio float64) bool {
	switch {
	case m.Bound > 0 && m.Lower:
		return ours <= m.Bound
	case m.Bound > 0:
		return ours >= m.Bound
	}
	return ratio >= m.Ratio
}

const (
	perSecond = "1/s"
	millis    = "ms"
)

// Measures is everything that is compared, in the order of the report.
var Measures = []Measure{
	{Key: "add.p50", Name: "add: median wait", Unit: millis, Lower: true, Ratio: 20},
	{Key: "add.p99", Name: "add: p99 wait", Unit: millis, Lower: true, Ratio: 4},
	{Key: "update.p50", Name: "update: median wait", Unit: millis, Lower: true, Ratio: 20},
	{Key: "update.p99", Name: "update: p99 wait", Unit: millis, Lower: true, Ratio: 4},
	{Key: "mutations.1", Name: "mutations, 1 in flight", Unit: perSecond, Ratio: 15},
	{Key: "mutations.100", Name: "mutations, 100 in flight", Unit: perSecond, Ratio: 2},
	{Key: "mutations.1000", Name: "mutations, 1,000 in flight", Unit: perSecond, Ratio: 4},
	{Key: "get.1", Name: "look-up by epoch and offset, 1 thread", Unit: perSecond, Ratio: 2},
	{Key: "get.2", Name: "look-up by epoch and offset, 2 threads", Unit: perSecond, Ratio: 2},
	{Key: "get.scaling", Name: "look-ups of 2 threads to those of 1", Unit: "×", Bound: 1.8},
	{Key: "get.epochs", Name: "look-up among 100 epochs", Unit: perSecond},
	{Key: "get.miss", Name: "look-up that finds nothing", Unit: perSecond},
	{Key: "highest", Name: "highest offset for an epoch", Unit: perSecond, Ratio: 1},
	{Key: "nextTxn", Name: "next segment with transaction index", Unit: perSecond, Ratio: 5},
	{Key: "list.iterated", Name: "list all, iterated", Unit: perSecond, Ratio: 2},
	{Key: "list.slice", Name: "list all, as a slice", Unit: perSecond, Ratio: 2},
	{Key: "listEpoch.iterated", Name: "list an epoch, iterated", Unit: perSecond, Ratio: 3},
	{Key: "listEpoch.slice", Name: "list an epoch, as a slice", Unit: perSecond, Ratio: 3},
	{Key: "size", Name: "size of an epoch", Unit: perSecond, Ratio: 1000},
	{Key: "restart", Name: "restart, nothing new: time to ready", Unit: millis, Lower: true, Ratio: 10},
	{Key: "restart.fleet", Name: "restart right after the fleet's: time to ready", Unit: millis, Lower: true},
	{Key: "first.written", Name: "first start, table as written: time to ready", Unit: millis, Lower: true, Ratio: 1.2},
	{Key: "first.compacted", Name: "first start, table compacted: time to ready", Unit: millis, Lower: true, Ratio: 2},
	{Key: "assign", Name: "new metadata partition, the rest ready", Unit: millis, Lower: true, Bound: 300},
	{Key: "memory", Name: "memory of a segment, all queried", Unit: "B", Lower: true, Ratio: 4},
	{Key: "processor", Name: "processor, from an empty table", Unit: "events/s", Bound: 100_000},
	{Key: "processor.growth", Name: "processor, growing table: slowest later stretch to the first half", Unit: "×", Bound: 0.8},
}
