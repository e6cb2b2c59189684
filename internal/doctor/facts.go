package doctor

import (
	"strconv"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
)

// Facts are the cluster's answers.
type Facts struct {
	ClusterID string
	Brokers   []Broker
	// Metadata, Table and Rejected are the topics.
	Metadata, Table, Rejected Topic
	Group                     kafka.Group
	// GroupDenied says that the group may not be described.
	GroupDenied error
	// Partitions are the metadata partitions, as far as metadata topic and table have
	// them.
	Partitions []Partition
	// Rejections are those of the time that was asked for, by what became of the events.
	Rejections map[codec.Outcome]Rejections
	// Tiered are the topics with remote storage.
	Tiered []Tiered
	// Denied are other refusals.
	Denied []error
}

// Broker is one of the cluster.
type Broker struct {
	kafka.BrokerVersions
	// TieredStorage is remote.log.storage.system.enable; empty when it isn't told.
	TieredStorage string
}

// Topic is one of rlmm's topics.
type Topic struct {
	// Name is set also when there is no such topic.
	Name string
	// Missing says that there is none, Denied that it may not be described; the rest is
	// then empty.
	Missing bool
	Denied  error
	kafka.TopicDetail
	Settings map[string]string
}

func (t Topic) isThere() bool { return !t.Missing && t.Denied == nil }

// number is a setting that is a whole number, false when it isn't known.
func (t Topic) number(name string) (int64, bool) {
	n, err := strconv.ParseInt(t.Settings[name], 10, 64)
	return n, err == nil
}

// Partition is a metadata partition, and how far the table answers it.
type Partition struct {
	Number int32
	// Start and End are the input's, Applied the greatest offset that the end of the
	// table's partition tells of; −1 for none.
	Start, End, Applied int64
	// TableStart is where the table's partition begins; compaction doesn't move it.
	TableStart int64
	// Waiting is the first data record behind Applied, −1 when there is none.
	Waiting int64
	// ClusterID and TopicID are of the metadata topic that the table was made from; empty
	// when the end of the table's partition doesn't tell.
	ClusterID string
	TopicID   api.UUID
	// Foreign tells of a record in the table that no processor wrote; nil when none was
	// seen.
	Foreign error
}

// Rejections are events with one outcome.
type Rejections struct {
	Count int
	// Partition and Offset are where the last one lies, Reason why.
	Partition, Offset, Reason string
}

// Tiered is a topic with remote storage.
type Tiered struct {
	Name string
	// Retention is negative for ever.
	Retention time.Duration
}
