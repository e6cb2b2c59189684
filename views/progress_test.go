package views

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/codec"
)

// row is what the records of these tests are about.
const row = "row"

// answerTo is the answer to the record at the offset.
func answerTo(offset int64) answer {
	return answer{outcome: codec.OutcomeApplied, key: row, value: strconv.AppendInt(nil, offset, 10)}
}

// got tells what a waiter was told: an offset's answer, "passed", or "" for nothing yet.
func got(ch chan *answer) string {
	select {
	case a := <-ch:
		if a == nil {
			return "passed"
		}
		return string(a.value)
	default:
		return ""
	}
}

func wantGot(t *testing.T, ch chan *answer, want string) {
	t.Helper()
	if told := got(ch); told != want {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestAnswerAfterTheAcknowledgement(t *testing.T) {
	p := newProgress(4)
	ch := p.landAt(p.takeOff(row), 6)
	p.apply(5, answerTo(5))
	wantGot(t, ch, "")
	p.apply(6, answerTo(6))
	wantGot(t, ch, "6")
	p.apply(7, answerTo(7))
	wantGot(t, ch, "")
}

func TestAnswerBeforeTheAcknowledgement(t *testing.T) {
	p := newProgress(4)
	f := p.takeOff(row)
	for offset := int64(5); offset < 9; offset++ {
		p.apply(offset, answerTo(offset))
	}
	wantGot(t, p.landAt(f, 6), "6")
}

func TestAnswerThatCompactionTook(t *testing.T) {
	for _, tt := range []struct {
		name    string
		advance func(*progress)
	}{
		{"by a later answer", func(p *progress) { p.apply(7, answerTo(7)) }},
		{"by a position beyond", func(p *progress) { p.advanceTo(9) }},
		{"by a position at just that offset", func(p *progress) { p.advanceTo(6) }},
		{"by a position at the next, in steps", func(p *progress) { p.advanceTo(5); p.advanceTo(6) }},
	} {
		t.Run(tt.name+", told while it waits", func(t *testing.T) {
			p := newProgress(5)
			ch := p.landAt(p.takeOff(row), 6)
			tt.advance(p)
			wantGot(t, ch, "passed")
		})
		t.Run(tt.name+", told on landing", func(t *testing.T) {
			p := newProgress(5)
			f := p.takeOff(row)
			tt.advance(p)
			wantGot(t, p.landAt(f, 6), "passed")
		})
	}
}

func TestAPositionBelowPassesNobodyBy(t *testing.T) {
	p := newProgress(5)
	ch := p.landAt(p.takeOff(row), 7)
	p.advanceTo(6)
	p.advanceTo(3)
	wantGot(t, ch, "")
	if p.appliedOffset() != 6 {
		t.Errorf("applied %d", p.appliedOffset())
	}
}

func TestForgotten(t *testing.T) {
	p := newProgress(-1)
	a, b := p.landAt(p.takeOff(row), 0), p.landAt(p.takeOff(row), 0)
	p.forget(0, a)
	p.apply(0, answerTo(0))
	wantGot(t, a, "")
	wantGot(t, b, "0")
	c := p.landAt(p.takeOff(row), 1)
	p.forget(1, c)
	p.forget(1, c)
	if len(p.waiting) != 0 {
		t.Errorf("%d offsets are waited for", len(p.waiting))
	}
}

func TestKeptAnswersAreBounded(t *testing.T) {
	p := newProgress(-1)
	first, second := p.takeOff(row), (*flight)(nil)
	for offset := range int64(100) {
		if offset == 50 {
			second = p.takeOff(row)
		}
		p.apply(offset, answerTo(offset))
	}
	if len(p.kept) != 100 {
		t.Fatalf("%d answers are kept", len(p.kept))
	}
	p.land(first)
	if len(p.kept) != 50 {
		t.Errorf("%d answers are kept for a flight since 50", len(p.kept))
	}
	p.land(second)
	if len(p.kept) != 0 || len(p.flights) != 0 {
		t.Errorf("%d answers are kept for nobody", len(p.kept))
	}
	p.apply(100, answerTo(100))
	if len(p.kept) != 0 {
		t.Error("an answer is kept for nobody")
	}
}

// Many answers come while one publish is under way for long: those about other rows are
// not kept, and of those about its own row the oldest go.
func TestAStuckPublishKeepsLittle(t *testing.T) {
	p := newProgress(-1)
	f := p.takeOff(row)
	large := answer{outcome: codec.OutcomeApplied, key: row, value: make([]byte, 1<<20)}
	for offset := range int64(100) {
		p.apply(2*offset, answer{outcome: codec.OutcomeApplied, key: "another", value: large.value})
		p.apply(2*offset+1, large)
	}
	if n := len(p.kept); n == 0 || n > maxKeptBytes>>20 || p.keptBytes > maxKeptBytes {
		t.Errorf("%d answers are kept, %d bytes", n, p.keptBytes)
	}
	oldest := p.landAt(p.takeOff(row), 1)
	if a := <-oldest; a != nil {
		t.Error("the oldest answer is still kept")
	}
	if a := <-p.landAt(f, 199); a == nil || len(a.value) != 1<<20 {
		t.Error("the newest answer isn't kept")
	}
	if len(p.kept)+len(p.flights)+len(p.inFlight)+p.keptBytes != 0 {
		t.Errorf("kept for nobody: %d answers, %d bytes, %d flights", len(p.kept), p.keptBytes, len(p.flights))
	}
}

// An answer to another record than the one that was published there says so, kept or not.
func TestAnswerAboutAnotherRow(t *testing.T) {
	for _, after := range []bool{false, true} {
		p := newProgress(4)
		f := p.takeOff(row)
		var ch chan *answer
		if !after {
			ch = p.landAt(f, 6)
		}
		for offset := int64(5); offset < 9; offset++ {
			p.apply(offset, answer{outcome: codec.OutcomeApplied, key: "another"})
		}
		if after {
			ch = p.landAt(f, 6)
		}
		if a := <-ch; a == nil || a.key == row {
			t.Errorf("told %v, want an answer about another row", a)
		}
	}
}

// A store that is rebuilt goes through its answers again, from lower offsets on.
func TestResetWhileInFlight(t *testing.T) {
	p := newProgress(-1)
	f := p.takeOff(row)
	for range 2 {
		for offset := range int64(10) {
			p.apply(offset, answerTo(offset))
		}
		if len(p.kept) != 10 {
			t.Fatalf("%d answers are kept", len(p.kept))
		}
		if p.appliedOffset() == 9 {
			p.reset(-1)
		}
	}
	waiting := p.landAt(p.takeOff(row), 5)
	for offset := range int64(10) {
		p.apply(offset, answerTo(offset))
	}
	wantGot(t, waiting, "5")
	wantGot(t, p.landAt(f, 7), "7")
	q := newProgress(5)
	f = q.takeOff(row)
	q.apply(6, answerTo(6))
	q.reset(6) // the same store again
	wantGot(t, q.landAt(f, 6), "6")
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgress(4)
		if err := p.wait(t.Context(), 4); err != nil {
			t.Error(err)
		}
		done := make(chan error, 2)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { done <- p.wait(t.Context(), 6) }()
		synctest.Wait()
		p.apply(5, answerTo(5))
		synctest.Wait()
		if len(done) != 0 {
			t.Error("it waited for 6 and came at 5")
		}
		p.advanceTo(8)
		if err := <-done; err != nil {
			t.Error(err)
		}
		cause := errors.New("enough")
		go func() { done <- p.wait(ctx, 100) }()
		synctest.Wait()
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) {
			t.Error(err)
		}
		if len(p.reached) != 0 {
			t.Errorf("%d wait", len(p.reached))
		}
	})
}

// modelFlight is a publish as the model sees it.
type modelFlight struct {
	flight *flight
	since  int64
	landed bool
}

// modelWaiter is one who waits for an answer, and what it must be told by now.
type modelWaiter struct {
	offset int64
	ch     chan *answer
	want   string
}

// Whatever the order of publishes, acknowledgements, answers and gaps, everybody is told
// once what became of just their record, and nothing is kept longer than it must.
func TestProgressModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, applied := newProgress(-1), int64(-1)
		answers := map[int64]bool{}
		var flights []*modelFlight
		var waiters []*modelWaiter
		pass := func(offset int64) {
			for _, w := range waiters {
				if w.offset <= offset && w.want == "" {
					w.want = "passed"
				}
			}
			applied = max(applied, offset)
		}
		inFlight := func() (open []*modelFlight) {
			for _, f := range flights {
				if !f.landed {
					open = append(open, f)
				}
			}
			return open
		}
		pick := func() *modelFlight {
			open := inFlight()
			if len(open) == 0 {
				t.Skip("nothing is in flight")
			}
			f := rapid.SampledFrom(open).Draw(t, "flight")
			f.landed = true
			return f
		}
		t.Repeat(map[string]func(*rapid.T){
			"take off": func(*rapid.T) { flights = append(flights, &modelFlight{flight: p.takeOff(row), since: applied}) },
			"fail":     func(*rapid.T) { p.land(pick().flight) },
			"land": func(t *rapid.T) {
				f := pick()
				w := &modelWaiter{offset: f.since + rapid.Int64Range(1, 6).Draw(t, "offset")}
				switch {
				case answers[w.offset]:
					w.want = string(answerTo(w.offset).value)
				case w.offset <= applied:
					w.want = "passed"
				}
				w.ch = p.landAt(f.flight, w.offset)
				waiters = append(waiters, w)
			},
			"apply": func(t *rapid.T) {
				offset := applied + rapid.Int64Range(1, 3).Draw(t, "step")
				answers[offset] = true
				for _, w := range waiters {
					if w.offset == offset && w.want == "" {
						w.want = string(answerTo(offset).value)
					}
				}
				pass(offset)
				p.apply(offset, answerTo(offset))
			},
			"position": func(t *rapid.T) {
				offset := applied + rapid.Int64Range(-2, 3).Draw(t, "step")
				if offset <= applied {
					p.advanceTo(offset)
					return
				}
				pass(offset)
				p.advanceTo(offset)
			},
			"": func(t *rapid.T) {
				if p.appliedOffset() != applied {
					t.Fatalf("applied %d, want %d", p.appliedOffset(), applied)
				}
				waiters = slices.DeleteFunc(waiters, func(w *modelWaiter) bool {
					if told := got(w.ch); told != w.want {
						t.Fatalf("waiter for %d was told %q, want %q", w.offset, told, w.want)
					}
					return w.want != ""
				})
				if len(p.waiting) > len(waiters) {
					t.Fatalf("%d offsets are waited for by %d", len(p.waiting), len(waiters))
				}
				open := inFlight()
				if len(open) != 0 && len(p.kept) != 0 && p.kept[0].offset <= open[0].since {
					t.Fatalf("the answer to %d is kept for a flight since %d", p.kept[0].offset, open[0].since)
				}
				if len(open) == 0 && len(p.kept)+len(p.flights) != 0 {
					t.Fatalf("%d answers are kept for nobody", len(p.kept))
				}
			},
		})
	})
}
