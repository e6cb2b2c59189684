package store

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tieredlog/rlmm/internal/disktest"
)

// untold is the time of a table record that changed nothing, not even the time: one
// that isn't rlmm's.
const untold = -1

// content is what a store must hold: the naive model of it.
type content struct {
	Rows     map[string]string
	Position Position
}

// prefix is the content after the first n records of the table.
func prefix(table []Change, n int64) content {
	c := content{map[string]string{}, none}
	c.Position.Table = n - 1
	for _, r := range table[:n] {
		c.Position.Applied = max(c.Position.Applied, r.Applied)
		if r.Time != untold {
			c.Position.Time = r.Time
		}
		switch {
		case r.Key == "":
		case r.Value == nil:
			delete(c.Rows, r.Key)
		default:
			c.Rows[r.Key] = string(r.Value)
		}
	}
	return c
}

func (c content) visible() content {
	c.Rows = maps.Clone(c.Rows)
	maps.DeleteFunc(c.Rows, func(k, _ string) bool { return strings.HasPrefix(k, "!") })
	return c
}

type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func noError(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onDisk is what a store holds on disk, by its own iterator.
func onDisk(t fataler, s *Store) content {
	t.Helper()
	c := content{map[string]string{}, s.Committed()}
	for row, err := range s.Rows(nil, nil) {
		noError(t, err)
		c.Rows[string(row.Key)] = string(row.Value)
	}
	return c
}

// inMemory is what a reader of the keys sees.
func inMemory(t fataler, s *Store, keys []string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for _, k := range keys {
		v, err := s.Get(k)
		noError(t, err)
		has, err := s.Has(k)
		noError(t, err)
		if has != (v != nil) {
			t.Fatalf("Has(%q) = %v, but the value is %q", k, has, v)
		}
		if has {
			rows[k] = string(v)
		}
	}
	return rows
}

func wantSame(t fataler, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

var modelKeys = []string{"a:0", "a:0/x", "a:0/y", "a:1/x", "b:0", "!7", "~"}

// machine drives a store as goka, the table's writer and a kill would, beside the
// table that it follows.
type machine struct {
	disk    *disktest.Disk
	s       *Store
	table   []Change
	pending []Change // emitted by the owner, not acknowledged
	live    bool
	broken  bool
	applied int64
}

func (m *machine) next() int64 { return m.s.Position().Table + 1 }

func (m *machine) draw(t *rapid.T) Change {
	m.applied++
	c := Change{
		Key:     rapid.SampledFrom(append([]string{""}, modelKeys...)).Draw(t, "key"),
		Applied: rapid.SampledFrom([]int64{m.applied, -1}).Draw(t, "applied"),
		Time:    int64(len(m.table) + len(m.pending) + 1),
	}
	if c.Key != "" && rapid.IntRange(0, 3).Draw(t, "delete") > 0 {
		c.Value = []byte(rapid.StringN(0, 4, 8).Draw(t, "value"))
	}
	return c
}

// read is one step of goka's recovery or of a view.
func (m *machine) read(t *rapid.T) {
	n := m.next()
	if n == int64(len(m.table)) {
		m.table = append(m.table, m.draw(t))
	}
	if c := m.table[n]; c.Time != untold {
		m.s.Stage(c)
	}
	noError(t, m.s.SetOffset(n))
}

func (m *machine) readForeign(t *rapid.T) {
	if m.next() == int64(len(m.table)) {
		m.table = append(m.table, Change{Applied: -1, Time: untold})
		noError(t, m.s.SetOffset(m.next()))
	}
}

// readHalf stages a record and never learns its offset: the reader ends there.
func (m *machine) readHalf(t *rapid.T) {
	c := m.draw(t)
	m.s.Stage(c)
	if rapid.Bool().Draw(t, "flush") {
		noError(t, m.s.Flush())
	}
	want := prefix(append(slices.Clone(m.table[:m.next()]), c), m.next()+1)
	wantSame(t, "reads while a change has no offset", want.Rows, inMemory(t, m.s, modelKeys))
	if rapid.Bool().Draw(t, "kill") {
		m.kill(t)
		return
	}
	noError(t, m.s.Open())
}

func (m *machine) kill(t *rapid.T) {
	m.reopen(t, m.disk.Copy(), m.s.Committed())
}

func (m *machine) close(t *rapid.T) {
	want := m.s.Committed()
	if !m.live {
		want = prefix(m.table, m.next()).Position
	}
	noError(t, m.s.Close())
	m.reopen(t, m.disk, want)
}

func (m *machine) reopen(t *rapid.T, d *disktest.Disk, want Position) {
	_ = m.s.Close()
	s, err := onto(d, "", Options{WriteBuffer: 1 << 12}.leveldb())
	noError(t, err)
	wantSame(t, "position after reopening", want, s.Committed())
	*m = machine{disk: d, s: s, table: m.table, applied: m.applied}
}

func (m *machine) goLive(t *rapid.T) {
	fence := int64(len(m.table)) - 1
	err := m.s.GoLive(fence)
	if here := m.next()-1 == fence; here != (err == nil) {
		t.Fatalf("GoLive(%d) at %d: %v", fence, m.next()-1, err)
	}
	m.live = err == nil
}

func (m *machine) emit(t *rapid.T) {
	c := m.draw(t)
	m.pending = append(m.pending, c)
	m.s.Stage(c)
	noError(t, m.s.SetOffset(12345)) // as goka does, to no effect
}

func (m *machine) ack(t *rapid.T) {
	if len(m.pending) == 0 {
		return
	}
	n := rapid.IntRange(1, len(m.pending)).Draw(t, "n")
	noError(t, m.s.Ack(int64(len(m.table)), n))
	m.table, m.pending = append(m.table, m.pending[:n]...), m.pending[n:]
}

func (m *machine) ackElsewhere(t *rapid.T) {
	if len(m.pending) == 0 {
		return
	}
	base := int64(len(m.table)) + rapid.SampledFrom([]int64{-1, 1, 7}).Draw(t, "shift")
	if m.s.Ack(base, 1) == nil {
		t.Fatalf("acknowledged at %d instead of %d", base, len(m.table))
	}
	m.broken = true
}

func (m *machine) ackBroken(t *rapid.T) {
	if m.s.Ack(int64(len(m.table)), 1) == nil || m.s.Flush() == nil {
		t.Fatal("a broken store wrote on")
	}
}

func (m *machine) check(t *rapid.T) {
	committed := m.s.Committed()
	wantSame(t, "on disk", prefix(m.table, committed.Table+1).visible(), onDisk(t, m.s))
	known := m.table[:m.next()]
	seen := prefix(append(slices.Clone(known), m.pending...), int64(len(known)+len(m.pending)))
	wantSame(t, "reads", seen.Rows, inMemory(t, m.s, modelKeys))
	if got := m.s.Position().Applied; got != seen.Position.Applied {
		t.Fatalf("applied %d, want %d", got, seen.Position.Applied)
	}
	if committed.Table > m.s.Position().Table {
		t.Fatalf("the disk is at %d, ahead of %d", committed.Table, m.s.Position().Table)
	}
}

// TestModel compares the store with the naive model under any sequence of what its
// callers do, kills among it.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{disk: disktest.New()}
		var err error
		m.s, err = onto(m.disk, "", Options{WriteBuffer: 1 << 12}.leveldb())
		noError(t, err)
		defer func() { _ = m.s.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"read":          m.only(reading, m.read),
			"read foreign":  m.only(reading, m.readForeign),
			"read half":     m.only(reading, m.readHalf),
			"recovered":     m.only(reading, func(t *rapid.T) { noError(t, m.s.MarkRecovered()) }),
			"flush":         m.only(reading, func(t *rapid.T) { noError(t, m.s.Flush()) }),
			"go live":       m.only(reading, m.goLive),
			"emit":          m.only(owning, m.emit),
			"ack":           m.only(owning, m.ack),
			"ack elsewhere": m.only(owning, m.ackElsewhere),
			"broken":        m.only(refusing, m.ackBroken),
			"kill":          m.kill,
			"close":         m.close,
			"":              m.check,
		})
	})
}

type phase int

const (
	reading phase = iota
	owning
	refusing
)

// only does the action in its phase and nothing in the others.
func (m *machine) only(p phase, do func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		now := reading
		switch {
		case m.broken:
			now = refusing
		case m.live:
			now = owning
		}
		if now == p {
			do(t)
		}
	}
}
