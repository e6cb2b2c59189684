package views

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/internal/store"
)

// fakeReader gives the messages that it has until it is closed.
type fakeReader struct {
	sarama.PartitionConsumer
	offset   int64
	end      int64
	messages chan *sarama.ConsumerMessage
	errors   chan *sarama.ConsumerError
	closed   int
	left     error // from Close
}

func (r *fakeReader) Messages() <-chan *sarama.ConsumerMessage { return r.messages }
func (r *fakeReader) Errors() <-chan *sarama.ConsumerError     { return r.errors }
func (r *fakeReader) HighWaterMarkOffset() int64               { return r.end }
func (r *fakeReader) AsyncClose()                              { panic("goka's closing isn't handed on") }

func (r *fakeReader) Close() error {
	r.closed++
	return r.left
}

var errClosing = errors.New("what was left in the reader")

type fakeConsumer struct {
	sarama.Consumer
	opened []*fakeReader
	err    error
}

func (c *fakeConsumer) ConsumePartition(_ string, _ int32, offset int64) (sarama.PartitionConsumer, error) {
	r := &fakeReader{offset: offset, left: errClosing, messages: make(chan *sarama.ConsumerMessage, 2), errors: make(chan *sarama.ConsumerError, 1)}
	c.opened = append(c.opened, r)
	return r, c.err
}

func singleOf(c *fakeConsumer, applied int64) *singleConsumer {
	return &singleConsumer{Consumer: c, partition: 7, applied: func() int64 { return applied }}
}

func isClosed[T any](c <-chan T) bool {
	select {
	case _, ok := <-c:
		return !ok
	default:
		return false
	}
}

// goka closes its reader when it has recovered and begins another one right behind. That is
// the same one: what it has fetched meanwhile isn't lost, and sarama begins none.
func TestReaderGoesOnAfterRecovery(t *testing.T) {
	t.Parallel()
	all := &fakeConsumer{}
	c := singleOf(all, 4)
	first, err := c.ConsumePartition("table", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	fetched := &sarama.ConsumerMessage{Offset: 5}
	all.opened[0].messages <- fetched
	all.opened[0].errors <- &sarama.ConsumerError{}
	first.AsyncClose()
	if !isClosed(first.Messages()) || !isClosed(first.Errors()) {
		t.Error("a reader that was left isn't at its end, so goka waits for it")
	}
	second, err := c.ConsumePartition("table", 0, 5)
	if err != nil {
		t.Fatal(err)
	}
	if got := <-second.Messages(); got != fetched || len(second.Errors()) != 1 || len(all.opened) != 1 {
		t.Errorf("%v, %d errors, %d readers; it had %v and one error", got, len(second.Errors()), len(all.opened), fetched)
	}
	second.AsyncClose()
	if err := c.Close(); !errors.Is(err, errClosing) || all.opened[0].closed != 1 {
		t.Errorf("closed %d times: %v", all.opened[0].closed, err)
	}
	if err := c.Close(); err != nil || all.opened[0].closed != 1 {
		t.Errorf("and again: %v", err)
	}
}

func TestReaderOfAnotherOffsetIsAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leave  bool
		offset int64
	}{
		"behind a gap":     {true, 6},
		"again":            {true, 4},
		"while it is read": {false, 5},
	} {
		all := &fakeConsumer{}
		single := singleOf(all, 4)
		first, err := single.ConsumePartition("table", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if c.leave {
			first.AsyncClose()
		}
		if _, err := single.ConsumePartition("table", 0, c.offset); !errors.Is(err, errClosing) {
			t.Errorf("%s: %v, the old one's error was due", name, err)
		}
		if _, err := single.ConsumePartition("table", 0, c.offset); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got [][2]int64
		for _, r := range all.opened {
			got = append(got, [2]int64{r.offset, int64(r.closed)})
		}
		if want := [][2]int64{{0, 1}, {c.offset, 0}}; !slices.Equal(got, want) {
			t.Errorf("%s: readers (offset, closed) %v, want %v", name, got, want)
		}
	}
}

func TestSingleConsumerThatCannotRead(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	c := singleOf(&fakeConsumer{err: refused}, -1)
	if _, err := c.ConsumePartition("table", 0, 0); !errors.Is(err, refused) {
		t.Error(err)
	}
	if _, err := c.ConsumePartition("table", 1, 0); err == nil {
		t.Error("it reads a partition that isn't its own")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// What a reader ran into is told, not only how often.
func TestReaderTellsWhatWasLeft(t *testing.T) {
	t.Parallel()
	all := &fakeConsumer{}
	c := singleOf(all, -1)
	if _, err := c.ConsumePartition("table", 0, 0); err != nil {
		t.Fatal(err)
	}
	all.opened[0].left = sarama.ConsumerErrors{{Topic: "table", Partition: 7, Err: sarama.ErrOffsetOutOfRange}}
	err := c.Close()
	if err == nil || !strings.Contains(err.Error(), sarama.ErrOffsetOutOfRange.Error()) || !strings.Contains(err.Error(), "table/7") {
		t.Errorf("%v doesn't tell what was wrong where", err)
	}
}

// A record that isn't applied, since others wrote it, goes to disk like one that is: a view
// that is killed there would read it as one that recovers, and doubt the row.
func TestWhatIsNotAppliedIsKept(t *testing.T) {
	t.Parallel()
	s, _, err := store.Open(filepath.Join(t.TempDir(), "store"), store.Options{}, store.Expect{TableEnd: 9, MaxAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.MarkRecovered(); err != nil {
		t.Fatal(err)
	}
	p := &partition{store: s, reader: &singleConsumer{reader: &reader{PartitionConsumer: &fakeReader{end: 7}}}}
	table := &viewStorage{Store: s, keep: p.keep}
	for _, c := range []struct{ offset, want int64 }{{5, -1}, {6, 6}, {7, 7}} {
		if err := table.SetOffset(c.offset); err != nil {
			t.Fatal(err)
		}
		if got := s.Committed().Table; got != c.want {
			t.Errorf("at %d of 7 the disk is at %d, want %d", c.offset, got, c.want)
		}
	}
}
