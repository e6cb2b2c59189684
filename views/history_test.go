package views

import (
	"path/filepath"
	"testing"

	"github.com/tieredlog/rlmm/internal/store"
)

// What was asked ahead is told of that record alone: a store whose last write failed, but is
// on disk, has another last record when it is opened again.
func TestAskingAheadIsOfOneRecord(t *testing.T) {
	s, _, err := store.Open(filepath.Join(t.TempDir(), "0"), store.Options{}, store.Expect{TableEnd: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Stage(store.Change{Key: "k", Value: []byte("v"), Applied: 0, Sum: 105})
	if err := s.SetOffset(5); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	var asked []int64
	want := store.Expect{TableEnd: 9, SumAt: func(offset int64) (uint32, store.Fate, error) {
		asked = append(asked, offset)
		return uint32(100 + offset), store.Kept, nil
	}}
	p := &partition{store: s}
	p.askFirst(&want)
	for _, offset := range []int64{5, 6} {
		if sum, _, err := want.SumAt(offset); sum != uint32(100+offset) || err != nil {
			t.Errorf("at %d: %d, %v", offset, sum, err)
		}
	}
	if len(asked) != 2 {
		t.Errorf("asked for %v", asked)
	}
}
