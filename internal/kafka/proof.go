package kafka

import (
	"encoding/binary"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tieredlog/rlmm/api"
)

// lookVersion is the first one of Metadata that tells topic ids; brokers have it from 2.8 on.
const lookVersion = 10

// Where a request has what this package reads of it, in bytes: size, API key, version,
// correlation id.
const (
	keyAt           = 4
	versionAt       = 6
	correlationAt   = 8
	leastOfARequest = 12
)

// lookAt is the request for the topic's metadata, to be numbered by numbered.
func lookAt(topic, clientID string) []byte {
	wanted := kmsg.NewMetadataRequestTopic()
	wanted.Topic = &topic
	r := kmsg.NewPtrMetadataRequest()
	r.Version, r.Topics, r.AllowAutoTopicCreation = lookVersion, []kmsg.MetadataRequestTopic{wanted}, false
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, r, 0)
}

// look is a request that goes right behind a fetch.
type look struct {
	// fetch and id are the correlation ids of the two.
	fetch, id int32
	// flexible tells whether the answer to the fetch has tags in its header.
	flexible bool
	// passed tells that the client has got the fetch's answer, or the most of it.
	passed bool
}

// lookBehind returns the look that belongs behind a whole request, and whether that is a
// fetch. The id is none that the client has under way: it counts up from 0.
func lookBehind(request []byte) (look, bool) {
	if len(request) < leastOfARequest || binary.BigEndian.Uint16(request[keyAt:]) != uint16(kmsg.Fetch) {
		return look{}, false
	}
	id := int32(binary.BigEndian.Uint32(request[correlationAt:]))
	fetch := kmsg.FetchRequest{Version: int16(binary.BigEndian.Uint16(request[versionAt:]))}
	return look{fetch: id, id: ^id, flexible: fetch.IsFlexible()}, true
}

// isWhole tells whether the bytes are one request.
func isWhole(b []byte) bool {
	return len(b) >= keyAt && uint64(binary.BigEndian.Uint32(b)) == uint64(len(b)-keyAt)
}

// numbered appends a request under a correlation id.
func numbered(to, request []byte, id int32) []byte {
	at := len(to)
	to = append(to, request...)
	binary.BigEndian.PutUint32(to[at+correlationAt:], uint32(id))
	return to
}

// proof is what a look has found.
type proof struct {
	topic Topic
	// leads are the partitions that the broker that was asked says it leads.
	leads []int32
	// at is when the answer came, dials how many connections the client had tried to make.
	at    time.Time
	dials int64
}

func isLedByOne(proofs []*proof, partition int32) bool {
	return slices.ContainsFunc(proofs, func(p *proof) bool { return slices.Contains(p.leads, partition) })
}

// proofIn reads the answer to a look, behind its correlation id, of the broker at addr; nil
// when it doesn't tell of the topic.
func proofIn(answer []byte, topic, addr string) *proof {
	header := kbin.Reader{Src: answer}
	kmsg.SkipTags(&header)
	meta := kmsg.NewPtrMetadataResponse()
	meta.Version = lookVersion
	if !header.Ok() || meta.ReadFrom(header.Src) != nil {
		return nil
	}
	for _, t := range meta.Topics {
		if t.ErrorCode == 0 && t.Topic != nil && *t.Topic == topic {
			return proofOf(t, idsAt(meta.Brokers, addr))
		}
	}
	return nil
}

func proofOf(t kmsg.MetadataResponseTopic, asked []int32) *proof {
	epochs := slices.Repeat([]int32{-1}, len(t.Partitions))
	var leads []int32
	for _, p := range t.Partitions {
		if p.ErrorCode != 0 || p.Partition < 0 || int(p.Partition) >= len(epochs) {
			continue
		}
		epochs[p.Partition] = p.LeaderEpoch
		if slices.Contains(asked, p.Leader) {
			leads = append(leads, p.Partition)
		}
	}
	return &proof{topic: Topic{*t.Topic, api.UUID(t.TopicID), int32(len(epochs)), epochs}, leads: leads}
}

// idsAt are the ids of the broker at an address, one at most in a cluster that is sound.
func idsAt(brokers []kmsg.MetadataResponseBroker, addr string) (ids []int32) {
	for _, b := range brokers {
		if net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))) == addr {
			ids = append(ids, b.NodeID)
		}
	}
	return ids
}
