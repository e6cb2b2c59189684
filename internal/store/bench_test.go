package store

import (
	"errors"
	"fmt"
	"testing"
)

// benchRows is how many rows the benchmarks go round: more than LevelDB's buffers hold.
const benchRows = 20_000

// benchChange is of the size that a segment's row has.
func benchChange(i int) Change {
	return Change{Key: fmt.Sprintf("AAAAAAAAAAAAAAAAAAAAAA:0/%022d", i%benchRows), Value: make([]byte, 150), Applied: int64(i), Time: int64(i)}
}

func benchStore(b *testing.B) *Store {
	b.Helper()
	s, _, err := Open(b.TempDir()+"/0", Options{}, Expect{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// BenchmarkRecover is a record of a table that is read from its start.
func BenchmarkRecover(b *testing.B) {
	s, i := benchStore(b), 0
	b.ReportAllocs()
	for b.Loop() {
		s.Stage(benchChange(i))
		if err := s.SetOffset(int64(i)); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkOwn is a record of the owner's, in batches of a hundred.
func BenchmarkOwn(b *testing.B) {
	const batch = 100
	s, i := benchStore(b), 0
	if err := s.MarkRecovered(); err != nil {
		b.Fatal(err)
	}
	s.Stage(Change{Applied: -1})
	if err := errors.Join(s.SetOffset(0), s.GoLive(0)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Stage(benchChange(i))
		if i++; i%batch == 0 {
			if err := s.Ack(int64(i-batch+1), batch); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkGet reads rows from LevelDB.
func BenchmarkGet(b *testing.B) {
	s := benchStore(b)
	for i := range benchRows {
		s.Stage(benchChange(i))
		if err := s.SetOffset(int64(i)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if v, err := s.Get(benchChange(i * 7919).Key); v == nil || err != nil {
			b.Fatal("no such row: ", err)
		}
		i++
	}
}
