package processor

import (
	"errors"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// keyer gives each input record the key that goka processes it under, from its value
// alone: Kafka writes null keys, and a key that is there isn't to be trusted. sarama
// may call it twice for a record and swallows its panics, so it is idempotent and has
// none.
type keyer struct {
	topic      string
	partitions int32
}

// OnConsume is sarama's consumer interceptor.
func (k keyer) OnConsume(m *sarama.ConsumerMessage) {
	if m.Topic == k.topic {
		m.Key = k.key(m.Partition, m.Value)
	}
}

// key is the row's key; the partition's hidden key for a record that has none or
// doesn't belong to the partition. Whether all of the record can be read inputCodec tells.
func (k keyer) key(partition int32, value []byte) []byte {
	key, err := codec.RecordKey(value)
	if err != nil || key.Partition(k.partitions) != partition {
		return []byte(codec.RejectedKey(partition))
	}
	return key.Bytes()
}

// input is a record of the metadata topic as the callback gets it.
type input struct {
	raw   []byte
	event api.RemoteLogMetadata // nil when err isn't
	err   error
}

// inputCodec decodes input records. It never fails: goka ends a processor on a codec's
// error, and a record that nobody can read must not stop what comes behind it.
type inputCodec struct{}

func (inputCodec) Encode(any) ([]byte, error) {
	return nil, errors.New("input records are only read")
}

func (inputCodec) Decode(value []byte) (any, error) {
	event, err := codec.DecodeRecord(value)
	return input{value, event, err}, nil
}

// refusal says why a record is refused that can't be read, or lies under the hidden key.
func (in input) refusal(partition, partitions int32) (codec.Outcome, error) {
	switch {
	case errors.Is(in.err, codec.ErrNullValue):
		return codec.OutcomeNullValue, in.err
	case in.err != nil:
		return codec.OutcomeUndecodable, in.err
	}
	tip := in.event.Partition()
	return codec.OutcomeMisrouted, fmt.Errorf("%s belongs to metadata partition %d, not %d",
		tip, codec.MetadataPartition(tip, partitions), partition)
}

// rawCodec passes bytes through: rows are decoded where they are used.
type rawCodec struct{}

func (rawCodec) Encode(v any) ([]byte, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("bytes expected, not %T", v)
	}
	return b, nil
}

func (rawCodec) Decode(b []byte) (any, error) { return b, nil }
