package codec

import (
	"encoding/binary"
	"hash"
	"math"
	"math/bits"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// MetadataPartition is the partition, of the metadata topic's n, that carries the
// events of a user's partition, as Kafka's RemoteLogMetadataTopicPartitioner has it.
// The topic's name plays no part. n must be positive.
func MetadataPartition(tip api.TopicIdPartition, n int32) int32 {
	return int32(partitionHash(&tip)) % n
}

// partitionHash is Kafka's toPositive(murmur2(…)) over the four bytes of Java's
// Objects.hash(id.lsb, id.msb, partition); it never has the sign bit.
func partitionHash(tip *api.TopicIdPartition) uint32 {
	most, least := tip.TopicID.Bits()
	h := uint32(1)
	for _, part := range [...]uint32{longHash(least), longHash(most), uint32(tip.Partition)} {
		h = 31*h + part
	}
	return murmur2(h) & math.MaxInt32
}

// longHash is Java's Long.hashCode.
func longHash(v uint64) uint32 { return uint32(v ^ v>>32) }

// murmur2 is Kafka's Utils.murmur2 over a big-endian 32-bit number. The client
// libraries keep theirs to themselves.
func murmur2(number uint32) uint32 {
	const seed, length, m = 0x9747b28c, 4, 0x5bd1e995
	k := bits.ReverseBytes32(number) * m
	k = (k ^ k>>24) * m
	h := uint32(seed ^ length)
	h = h*m ^ k
	h = (h ^ h>>13) * m
	return h ^ h>>15
}

// NewHasher returns goka's hash for the table: it sends a key to the metadata
// partition that its events are on, whatever the number of partitions, and a hidden
// key to the partition that it names. It looks at nothing behind the first slash. The
// sum never has the sign bit, since Kafka masks it where goka would negate. Bytes
// that are no key sum to 0.
func NewHasher() hash.Hash32 { return &hasher{} }

type hasher struct{ key []byte }

// Write takes in a part of the key; it never fails.
func (h *hasher) Write(p []byte) (int, error) {
	h.key = append(h.key, p...)
	return len(p), nil
}

// Sum appends the sum, big-endian, to b.
func (h *hasher) Sum(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.Sum32()) }

// Reset forgets the key.
func (h *hasher) Reset() { h.key = h.key[:0] }

// Size is the length of a sum in bytes.
func (h *hasher) Size() int { return 4 }

// BlockSize is 1: keys are hashed byte by byte.
func (h *hasher) BlockSize() int { return 1 }

// Sum32 is the sum of the key so far.
func (h *hasher) Sum32() uint32 {
	head, _, _ := strings.Cut(string(h.key), "/")
	if IsHidden(head) {
		k, ok := parseHidden(head, false)
		if !ok {
			return 0
		}
		return uint32(k.MetadataPartition)
	}
	tip, ok := parsePartition(head)
	if !ok {
		return 0
	}
	return partitionHash(&tip)
}
