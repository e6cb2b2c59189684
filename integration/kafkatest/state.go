package kafkatest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tieredlog/rlmm/api"
)

// State is what Kafka's manager answers about one partition after it has replayed the
// metadata topic.
type State struct {
	Topic             string   `json:"topic"`
	Partition         int32    `json:"partition"`
	TopicID           api.UUID `json:"topicId"`
	MetadataPartition int32    `json:"metadataPartition"`
	// Events is the number of the partition's events on the topic.
	Events int `json:"events"`
	// Segments is listRemoteLogSegments, by start offset and id.
	Segments []Metadata `json:"segments"`
	// Epochs holds every epoch that a segment of the partition ever had, ascending.
	Epochs []EpochState `json:"epochs"`
	// Queries asks for each of these epochs about every offset at which a segment or an
	// epoch of one begins or ends.
	Queries []Query `json:"get_epoch_offset_segment_nextTxn"`
}

// TopicIdPartition is the partition that the answers are about.
func (s State) TopicIdPartition() api.TopicIdPartition {
	return api.TopicIdPartition{TopicID: s.TopicID, Topic: s.Topic, Partition: s.Partition}
}

// EpochState is the answers about one leader epoch.
type EpochState struct {
	Epoch int32 `json:"epoch"`
	// List is listRemoteLogSegments of the epoch, in Kafka's order.
	List []api.UUID `json:"list"`
	// Highest is highestOffsetForEpoch, nil for none.
	Highest *int64 `json:"highest"`
	// RemoteLogSize is in bytes.
	RemoteLogSize int64 `json:"remoteLogSize"`
}

// Query is the answers about one offset in one leader epoch; a zero id is no segment.
type Query struct {
	Epoch  int32
	Offset int64
	// Segment is remoteLogSegmentMetadata.
	Segment api.UUID
	// NextTxn is nextSegmentWithTxnIndex. Kafka ends its search at a gap.
	NextTxn api.UUID
}

// UnmarshalJSON reads [epoch, offset, segment, next segment], where the text "null" is
// no segment.
func (q *Query) UnmarshalJSON(b []byte) error {
	var segment, next string
	tuple := []any{&q.Epoch, &q.Offset, &segment, &next}
	if err := json.Unmarshal(b, &tuple); err != nil {
		return err
	}
	if len(tuple) != 4 {
		return fmt.Errorf("query of %d elements: %s", len(tuple), b)
	}
	var err error
	if q.Segment, err = segmentOrNone(segment); err != nil {
		return err
	}
	q.NextTxn, err = segmentOrNone(next)
	return err
}

func segmentOrNone(s string) (api.UUID, error) {
	if s == "null" {
		return api.UUID{}, nil
	}
	return api.ParseUUID(s)
}

// sortStates orders states as the Java peer does.
func sortStates(states []State) {
	slices.SortFunc(states, func(a, b State) int {
		return cmp.Or(
			cmp.Compare(a.Topic, b.Topic),
			cmp.Compare(a.TopicID.String(), b.TopicID.String()),
			cmp.Compare(a.Partition, b.Partition))
	})
}
