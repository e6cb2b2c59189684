package rest

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/tieredlog/rlmm/api"
)

// A page token is base64 of: its version, a byte; the start offset, 8 bytes, and id, 16
// bytes, of the page's last segment; the CRC-32C, 4 bytes, of all that and of the
// partition. It names a place, not a page: it stays good whatever becomes of the list.
const (
	tokenVersion = 1
	tokenBytes   = 1 + 8 + 16 + 4
)

var (
	tokenText  = base64.RawURLEncoding
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

func pageToken(tip api.TopicIdPartition, after api.SegmentCursor) string {
	b := make([]byte, 0, tokenBytes)
	b = append(b, tokenVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(after.StartOffset))
	b = append(b, after.ID[:]...)
	b = binary.BigEndian.AppendUint32(b, tokenSum(tip, b))
	return tokenText.EncodeToString(b)
}

func tokenSum(tip api.TopicIdPartition, b []byte) uint32 {
	sum := crc32.Update(0, castagnoli, tip.TopicID[:])
	sum = crc32.Update(sum, castagnoli, binary.BigEndian.AppendUint32(nil, uint32(tip.Partition)))
	return crc32.Update(sum, castagnoli, b)
}

// readPageToken reads what pageToken wrote for the same partition, and nothing else.
func readPageToken(tip api.TopicIdPartition, text string) (*api.SegmentCursor, error) {
	b, err := tokenText.DecodeString(text)
	switch {
	case err != nil || len(b) == 0:
		return nil, badToken("is not a page token")
	case b[0] != tokenVersion:
		return nil, badToken(fmt.Sprintf("is a page token of version %d, not %d: begin again without", b[0], tokenVersion))
	case len(b) != tokenBytes:
		return nil, badToken("is a part of a page token")
	}
	after := &api.SegmentCursor{StartOffset: int64(binary.BigEndian.Uint64(b[1:])), ID: api.UUID(b[9:25])}
	// Made again, so that a text that only decodes alike is refused too.
	if pageToken(tip, *after) != text {
		return nil, badToken("is damaged, or of another partition")
	}
	return after, nil
}

func badToken(reason string) error {
	return &api.InvalidArgumentError{Field: paramPageToken, Reason: reason}
}
