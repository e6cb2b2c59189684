package store

import (
	"strconv"
	"sync"
	"testing"
)

// TestReadersBesideTheWriter: each row holds its own number, which only grows, and so
// does the position.
func TestReadersBesideTheWriter(t *testing.T) {
	_, s := owned(t)
	const records, keys = 3000, 7
	done := make(chan struct{})
	var readers sync.WaitGroup
	for r := range 3 {
		readers.Go(func() { watch(t, s, "k"+strconv.Itoa(r), done) })
	}
	readers.Go(func() { scan(t, s, done) })
	for i := range int64(records) {
		s.Stage(set("k"+strconv.FormatInt(i%keys, 10), strconv.FormatInt(i, 10), i))
		if i%5 == 4 {
			noError(t, s.Ack(i-3, 5))
		}
	}
	close(done)
	readers.Wait()
	wantSame(t, "end", Position{Table: records, Applied: records - 1, Time: 100 + records - 1}, s.Committed())
}

func watch(t *testing.T, s *Store, key string, done chan struct{}) {
	t.Helper()
	row, position := int64(-1), none
	for {
		select {
		case <-done:
			return
		default:
		}
		v, err := s.Get(key)
		if err != nil {
			t.Error(err)
			return
		}
		now := s.Position()
		n := int64(-1)
		if v != nil {
			n, _ = strconv.ParseInt(string(v), 10, 64)
		}
		if n < row || now.Table < position.Table || now.Applied < max(n, position.Applied) {
			t.Errorf("%s went from %d to %s, the position from %+v to %+v", key, row, v, position, now)
			return
		}
		row, position = max(row, n), now
	}
}

func scan(t *testing.T, s *Store, done chan struct{}) {
	t.Helper()
	for {
		select {
		case <-done:
			return
		default:
		}
		for _, err := range s.Rows(nil, nil) {
			if err != nil {
				t.Error(err)
				return
			}
		}
		_ = s.Committed()
	}
}
