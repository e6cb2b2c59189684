package bench

// The kinds of [Request].
const (
	// Latency adds and updates segments one after the other.
	Latency = "latency"
	// Throughput adds and updates segments, at most InFlight at a time.
	Throughput = "throughput"
	// Queries asks what a manager is asked, as often as it can.
	Queries = "queries"
	// Ready starts a manager and waits until all is replayed.
	Ready = "ready"
	// Assign gives a manager that is ready for the rest another metadata partition.
	Assign = "assign"
	// Lookups asks for random segments of all partitions; ours only.
	Lookups = "lookups"
	// Memory starts a manager and asks for every partition.
	Memory = "memory"
)

// Request asks a driver for one measurement. Fields that the kind doesn't use are
// ignored.
type Request struct {
	Kind      string `json:"kind"`
	Bootstrap string `json:"bootstrap"` // host:port
	// Topic, Group and Data are ours only: Kafka's manager knows one topic, and keeps
	// nothing.
	Topic string `json:"topic"`
	Group string `json:"group"`
	Data  string `json:"data"`
	// Seed, UserPartitions and Segments choose the workload; see [TopicIdPartition] and
	// [Segment]. Segments is of all partitions together.
	Seed           int64 `json:"seed"`
	UserPartitions int   `json:"userPartitions"`
	Segments       int   `json:"segments"`
	InFlight       int   `json:"inFlight"`
	// WarmUpMs and MeasureMs are how long each question is asked.
	WarmUpMs  int64 `json:"warmUpMs"`
	MeasureMs int64 `json:"measureMs"`
	// Profile is where our driver writes a CPU and a heap profile of the measurement,
	// without the endings .cpu and .heap; empty is none.
	Profile string `json:"profile"`
}

// Answer is what a driver measured, or why it couldn't.
type Answer struct {
	// Values has a number for each key in [Measures] that the kind gives.
	Values map[string]float64 `json:"values"`
	Error  string             `json:"error"`
}
