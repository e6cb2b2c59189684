package store

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/syndtr/goleveldb/leveldb"
)

// BenchmarkManyRows adds the rows of a million segments to one store in no order, as their
// random ids come, and updates each, in the owner's batches: what the owner of one large
// partition does. It reads each row before it writes it, as the fold does. -short does a
// tenth.
func BenchmarkManyRows(b *testing.B) {
	rows := 1_000_000
	if testing.Short() {
		rows /= 10
	}
	for b.Loop() {
		s := ownStore(b, Options{})
		began := time.Now()
		fill(b, s, rows)
		b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(2*rows), "ns/change")
		stats := statsOf(b, s)
		b.ReportMetric(stats.WriteDelayDuration.Seconds(), "s-held-back")
		b.ReportMetric(float64(stats.IOWrite)/given(rows), "written/given")
		b.ReportMetric(float64(stats.IORead)/given(rows), "read/given")
		noError(b, s.Close())
	}
}

// The first level holds as many write buffers for a large one as for a small one, and what
// LevelDB has it hold at least.
func TestLevelsSuitTheBuffer(t *testing.T) {
	for _, c := range []struct{ buffer, want int }{{0, 32 << 20}, {128 << 10, 10 << 20}, {4 << 20, 128 << 20}} {
		o := Options{WriteBuffer: c.buffer}.leveldb()
		wantSame(t, "the first level", int64(c.want), o.GetCompactionTotalSize(1)/10)
	}
}

func ownStore(tb testing.TB, o Options) *Store {
	tb.Helper()
	s, _, err := Open(tb.TempDir()+"/0", o, Expect{})
	noError(tb, err)
	s.Stage(Change{Applied: -1})
	noError(tb, errors.Join(s.MarkRecovered(), s.SetOffset(0), s.GoLive(0)))
	return s
}

// fill adds rows and updates them, a batch of the ones after a batch of the others.
func fill(tb testing.TB, s *Store, rows int) {
	tb.Helper()
	const batch = 500
	for i := range 2 * rows {
		update := i/batch%2 == 1
		c := manyChange(i/(2*batch)*batch+i%batch, i)
		if old, err := s.Get(c.Key); err != nil || (old != nil) != update {
			tb.Fatalf("change %d finds %q: %v", i, old, err)
		}
		s.Stage(c)
		if (i+1)%batch == 0 {
			noError(tb, s.Ack(int64(i+2-batch), batch))
		}
	}
}

// manyChange is change i, of the n-th row. Values differ as those of rows do.
func manyChange(n, i int) Change {
	const golden = 0x9E3779B97F4A7C15
	id, value := make([]byte, 16), make([]byte, 200)
	binary.BigEndian.PutUint64(id, uint64(n+1)*golden)
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	for at := 0; at < len(value); at += 8 {
		binary.BigEndian.PutUint64(value[at:], uint64(i+at)*golden)
	}
	key := "AAAAAAAAAAAAAAAAAAAAAA:0/" + base64.RawURLEncoding.EncodeToString(id)
	return Change{Key: key, Value: value, Applied: int64(i), Time: int64(i)}
}

// given is the bytes of fill's changes.
func given(rows int) float64 {
	c := manyChange(0, 0)
	return float64(2 * rows * (len(c.Key) + len(c.Value)))
}

func statsOf(tb testing.TB, s *Store) (stats leveldb.DBStats) {
	tb.Helper()
	noError(tb, s.db.Stats(&stats))
	return stats
}
