package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"testing/iotest"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/api"
)

const brokerAddr = "broker:9092"

// scripted is a connection to a broker that has sent all it will send.
type scripted struct {
	net.Conn
	io.Reader
	written bytes.Buffer
}

func (s *scripted) Read(b []byte) (int, error)  { return s.Reader.Read(b) }
func (s *scripted) Write(b []byte) (int, error) { return s.written.Write(b) }
func (s *scripted) Close() error                { return nil }

func newProofs(topic string, id api.UUID) *Proofs {
	return NewProofs(Settings{ClientID: "me"}.Group(), topic, id)
}

// over is a connection of the proofs.
func over(p *Proofs, conn net.Conn) *provingConn {
	c := newProvingConn(conn, brokerAddr, p)
	p.live[c] = nil
	return c
}

func frame(id int32, body ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	return append(binary.BigEndian.AppendUint32(b, uint32(id)), body...)
}

// fetchAnswerOf has the version's header, a throttle time and the body.
func fetchAnswerOf(id int32, version int16, throttle uint32, body ...byte) []byte {
	var head []byte
	if version >= 12 {
		head = []byte{0}
	}
	return frame(id, append(binary.BigEndian.AppendUint32(head, throttle), body...)...)
}

func request(r kmsg.Request, version int16, id int32) []byte {
	r.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, r, id)
}

func fetchRequest(version int16, id int32) []byte {
	return request(kmsg.NewPtrFetchRequest(), version, id)
}

func heartbeat(id int32) []byte { return request(kmsg.NewPtrHeartbeatRequest(), 4, id) }

// metadataOf is the answer to a look of broker 1, which leads the partitions.
func metadataOf(topic string, id api.UUID, epochs ...int32) *kmsg.MetadataResponse {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID = &topic, id
	for i, epoch := range epochs {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = int32(i), 1, epoch
		t.Partitions = append(t.Partitions, p)
	}
	r := kmsg.NewPtrMetadataResponse()
	r.Version = lookVersion
	r.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "broker", Port: 9092}}
	r.Topics = []kmsg.MetadataResponseTopic{t}
	return r
}

func lookAnswer(fetch int32, r *kmsg.MetadataResponse) []byte {
	return frame(^fetch, append([]byte{0}, r.AppendTo(nil)...)...)
}

func write(t *testing.T, c net.Conn, requests ...[]byte) {
	t.Helper()
	for _, r := range requests {
		n, err := c.Write(r)
		noError(t, err)
		wantSame(t, "bytes written", len(r), n)
	}
}

// A look goes behind each fetch, and behind nothing else, each with an id of its own.
func TestLooksGoBehindFetches(t *testing.T) {
	conn := &scripted{}
	c := over(newProofs("t", api.UUID{1}), conn)
	requests := [][]byte{heartbeat(0), fetchRequest(12, 1), fetchRequest(11, 2), heartbeat(3)}
	write(t, c, requests...)
	for i, r := range requests {
		wantSame(t, "request", r, conn.written.Next(len(r)))
		if i == 1 || i == 2 {
			wantLook(t, &conn.written, ^int32(i))
		}
	}
	wantSame(t, "bytes left", 0, conn.written.Len())
}

func wantLook(t *testing.T, from *bytes.Buffer, id int32) {
	t.Helper()
	size := binary.BigEndian.Uint32(from.Next(4))
	r := kbin.Reader{Src: from.Next(int(size))}
	wantSame(t, "key", int16(kmsg.Metadata), r.Int16())
	wantSame(t, "version", int16(lookVersion), r.Int16())
	wantSame(t, "id", id, r.Int32())
	wantSame(t, "client", "me", *r.NullableString())
	kmsg.SkipTags(&r)
	look := kmsg.NewPtrMetadataRequest()
	look.Version = lookVersion
	noError(t, look.ReadFrom(r.Src))
	wantSame(t, "topics", 1, len(look.Topics))
	wantSame(t, "topic", "t", *look.Topics[0].Topic)
	wantSame(t, "creates", false, look.AllowAutoTopicCreation)
}

// A fetch's last byte comes when its look is answered, and the proof is there by then.
func TestFetchIsHeldForItsProof(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	p := newProofs("t", api.UUID{1})
	c := over(p, ours)
	defer c.Close()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	write(t, c, fetchRequest(12, 0))
	answer := fetchAnswerOf(0, 12, 0, 7, 8, 9)
	go func() { _, _ = theirs.Write(answer) }()
	got := make([]byte, len(answer))
	_, err := io.ReadFull(c, got[:len(got)-1])
	noError(t, err)
	last := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(c, got[len(got)-1:])
		last <- err
	}()
	look := lookAnswer(0, metadataOf("t", api.UUID{1}, 5, 6))
	for i := range look { // the broker sends it byte by byte
		select {
		case err := <-last:
			t.Fatalf("the last byte came with %d bytes of the look, %v", i, err)
		default:
		}
		_, err := theirs.Write(look[i : i+1])
		noError(t, err)
	}
	noError(t, <-last)
	wantSame(t, "answer", answer, got)
	p.live[c].at = time.Now().Add(time.Hour) // however slow the machine is
	topics, _ := p.told([]int32{0, 1}, 0, false)
	wantSame(t, "told", []Topic{{"t", api.UUID{1}, 2, []int32{5, 6}}}, topics)
}

// What ends the connection hands no fetch on whose proof isn't there.
func TestConnectionsThatEnd(t *testing.T) {
	fetch, look := fetchAnswerOf(0, 12, 0, 7), lookAnswer(0, metadataOf("t", api.UUID{1}, 5))
	huge := slices.Concat(binary.BigEndian.AppendUint32(nil, maxProof+1), look[4:])
	for name, sent := range map[string][]byte{
		"before its answer":       nil,
		"before the look's":       fetch,
		"in the look's":           slices.Concat(fetch, look[:len(look)-1]),
		"another answer":          slices.Concat(fetch, frame(1, 1, 2, 3)),
		"a look that is too long": slices.Concat(fetch, huge),
		"a negative size":         slices.Concat(fetch, []byte{255, 255, 255, 255, 255, 255, 255, 255}),
	} {
		t.Run(name, func(t *testing.T) {
			p := newProofs("t", api.UUID{1})
			c := over(p, &scripted{Reader: bytes.NewReader(sent)})
			write(t, c, fetchRequest(12, 0))
			got, err := io.ReadAll(c)
			if len(got) >= len(fetch) {
				t.Errorf("the client has %d bytes of %d", len(got), len(fetch))
			}
			if n, again := c.Read(make([]byte, 1)); n != 0 || again == nil {
				t.Errorf("then %d bytes, %v after %v", n, again, err)
			}
			wantSame(t, "live connections", 0, len(p.live))
		})
	}
}

// A broker that throttles doesn't answer the look for a while. The client gets its answer
// without proof, and the look's answer is taken out when it comes.
func TestThrottledFetchIsNotHeld(t *testing.T) {
	for _, version := range []int16{11, 12} {
		p := newProofs("t", api.UUID{1})
		fetch, next := fetchAnswerOf(0, version, 100), frame(1, 1, 2, 3)
		conn := &scripted{Reader: bytes.NewReader(fetch)}
		c := over(p, conn)
		write(t, c, fetchRequest(version, 0), heartbeat(1))
		got := make([]byte, len(fetch))
		_, err := io.ReadFull(c, got)
		noError(t, err)
		wantSame(t, "answer", fetch, got)
		wantSame(t, "unproven", int64(1), p.unproven)

		conn.Reader = io.MultiReader(bytes.NewReader(lookAnswer(0, metadataOf("t", api.UUID{2}, 5))), bytes.NewReader(next))
		got, err = io.ReadAll(c)
		noError(t, err)
		wantSame(t, "what follows", next, got)
		if p.other == nil || p.other.ID != (api.UUID{2}) {
			t.Errorf("the other topic is %v", p.other)
		}
	}
}

// What isn't a whole request is never sent.
func TestRequestInPieces(t *testing.T) {
	for _, b := range [][]byte{{}, {0, 0}, fetchRequest(12, 0)[:20], append(fetchRequest(12, 0), 1)} {
		conn := &scripted{}
		c := over(newProofs("t", api.UUID{1}), conn)
		if n, err := c.Write(b); n != 0 || !errors.Is(err, errInPieces) || conn.written.Len() != 0 {
			t.Errorf("%d of %d bytes, %v", n, len(b), err)
		}
	}
}

// The client reads what the broker sends, but for the answers to looks, however both are cut.
func TestReadsAreWhatWasSent(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := newProofs("t", api.UUID{1})
		conn := &scripted{}
		c := over(p, conn)
		var sent, want []byte
		unproven := 0
		for id := range int32(rapid.IntRange(0, 8).Draw(r, "requests")) {
			if rapid.Bool().Draw(r, "other") {
				_, _ = c.Write(heartbeat(id))
				answer := frame(id, rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(r, "body")...)
				sent, want = append(sent, answer...), append(want, answer...)
				continue
			}
			version := rapid.SampledFrom([]int16{4, 11, 12}).Draw(r, "version")
			throttle := rapid.SampledFrom([]uint32{0, 0, 0, 9}).Draw(r, "throttle")
			_, _ = c.Write(fetchRequest(version, id))
			answer := fetchAnswerOf(id, version, throttle, rapid.SliceOfN(rapid.Byte(), 0, 9000).Draw(r, "records")...)
			look := lookAnswer(id, metadataOf("t", api.UUID{1}, 5))
			if rapid.IntRange(0, 3).Draw(r, "garbage") == 0 {
				look = frame(^id, rapid.SliceOf(rapid.Byte()).Draw(r, "look")...)
				unproven++
			}
			if throttle > 0 {
				unproven++
			}
			sent, want = slices.Concat(sent, answer, look), append(want, answer...)
		}
		conn.Reader = rapid.SampledFrom([]func(io.Reader) io.Reader{
			iotest.OneByteReader, iotest.HalfReader, func(r io.Reader) io.Reader { return r },
		}).Draw(r, "cut")(bytes.NewReader(sent))
		got, err := readBy(c, rapid.IntRange(1, 100).Draw(r, "reads"))
		if !errors.Is(err, io.EOF) || !bytes.Equal(got, want) {
			r.Fatalf("read %d bytes, %v; want %d", len(got), err, len(want))
		}
		if p.unproven > int64(unproven) {
			r.Fatalf("%d fetches unproven of %d", p.unproven, unproven)
		}
	})
}

// readBy reads until the first error, up to n bytes at a time.
func readBy(from io.Reader, n int) (got []byte, err error) {
	for b := make([]byte, n); err == nil; {
		var read int
		read, err = from.Read(b)
		got = append(got, b[:read]...)
	}
	return got, err
}

// Whatever comes, the connection ends by itself, and what is read was sent in that order.
func FuzzProvingConn(f *testing.F) {
	fetch, look := fetchAnswerOf(0, 12, 0, 7), lookAnswer(0, metadataOf("t", api.UUID{1}, 5))
	f.Add(slices.Concat(fetch, look, frame(1)), uint8(1))
	f.Add(slices.Concat(frame(5, 1, 2), fetchAnswerOf(0, 12, 3), look), uint8(200))
	f.Fuzz(func(t *testing.T, sent []byte, reads uint8) {
		c := over(newProofs("t", api.UUID{1}), &scripted{Reader: bytes.NewReader(sent)})
		_, _ = c.Write(fetchRequest(12, 0))
		_, _ = c.Write(heartbeat(1))
		got, _ := readBy(c, int(reads)+1)
		rest := sent
		for _, b := range got {
			i := bytes.IndexByte(rest, b)
			if i < 0 {
				t.Fatalf("read %x of %x", got, sent)
			}
			rest = rest[i+1:]
		}
	})
}
