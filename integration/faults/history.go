package faults

import (
	"sort"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// History is what a metadata topic's input came to, at each of its offsets.
type History struct {
	inputs   map[int32][]*sarama.ConsumerMessage
	expected map[int32]Expected
	versions map[userPartition][]version
}

// userPartition is what makes two TopicIdPartitions the same: the name doesn't.
type userPartition struct {
	topicID   api.UUID
	partition int32
}

func userPartitionOf(tip api.TopicIdPartition) userPartition {
	return userPartition{tip.TopicID, tip.Partition}
}

// version is a state and the input offset from which on it holds.
type version struct {
	offset int64
	state  State
}

// NewHistory folds the input of every metadata partition, whole and in order.
func NewHistory(partitions int32, inputs map[int32][]*sarama.ConsumerMessage) (*History, error) {
	h := &History{inputs, map[int32]Expected{}, map[userPartition][]version{}}
	for p := range partitions {
		e, err := FoldAll(p, partitions, inputs[p])
		if err != nil {
			return nil, err
		}
		h.expected[p] = e
		for _, m := range inputs[p] {
			if err := h.add(m.Offset, e.answers[m.Offset]); err != nil {
				return nil, err
			}
		}
	}
	return h, nil
}

// add makes a version of an answer that changes something.
func (h *History) add(offset int64, a answer) error {
	if codec.IsHidden(a.key) {
		return nil
	}
	key, err := codec.ParseKey(a.key)
	if err != nil {
		return err
	}
	row, err := decodeRow(key, a.value)
	if err != nil || row != nil && row.Offset != offset {
		return err // a row of an earlier offset is one that didn't change
	}
	id := userPartitionOf(key.ID.TopicIdPartition)
	var last State
	if v := h.versions[id]; len(v) > 0 {
		last = v[len(v)-1].state
	}
	if row != nil || last.has(key) {
		h.versions[id] = append(h.versions[id], version{offset, last.with(key, row)})
	}
	return nil
}

func decodeRow(key codec.Key, value string) (*codec.Row, error) {
	if value == "" {
		return nil, nil
	}
	row, err := codec.DecodeRow(key, []byte(value))
	return &row, err
}

// Expected is what the metadata partition's input comes to.
func (h *History) Expected(partition int32) Expected { return h.expected[partition] }

// Input is the metadata partition's input.
func (h *History) Input(partition int32) []*sarama.ConsumerMessage { return h.inputs[partition] }

// Len is how many records the metadata partition's input has.
func (h *History) Len(partition int32) int { return len(h.inputs[partition]) }

// next is the first input offset behind the given one; itself where there is none.
func (h *History) next(partition int32, offset int64) int64 {
	input := h.inputs[partition]
	i := sort.Search(len(input), func(i int) bool { return input[i].Offset > offset })
	if i == len(input) {
		return offset
	}
	return input[i].Offset
}

// between are the versions that held at any of the offsets from first to last, or the
// one at first when last is before it.
func (h *History) between(tip api.TopicIdPartition, first, last int64) []version {
	all := h.versions[userPartitionOf(tip)]
	after := sort.Search(len(all), func(i int) bool { return all[i].offset > first })
	end := after + sort.Search(len(all)-after, func(i int) bool { return all[after+i].offset > last })
	if after == 0 {
		return append([]version{{offset: -1}}, all[:end]...)
	}
	return all[after-1 : end]
}

// End is the state after the whole input.
func (h *History) End(tip api.TopicIdPartition) State {
	all := h.versions[userPartitionOf(tip)]
	if len(all) == 0 {
		return State{}
	}
	return all[len(all)-1].state
}
