package store

import (
	"errors"
	"fmt"
	"testing"

	"github.com/syndtr/goleveldb/leveldb"
)

// A set of several layers has each key that was added, and takes few others for one.
func TestKeySet(t *testing.T) {
	const n = firstLayer * (1 + layerGrowth + 1)
	var k keySet
	key := func(of string, i int) string { return fmt.Sprint(of, ":", i) }
	for i := range n {
		k.add(key("added", i))
		k.add(key("added", i/2)) // takes no room
	}
	wantSame(t, "layers", 3, len(k.layers))
	wrong := 0
	for i := range n {
		if !k.mayHave(key("added", i)) {
			t.Fatalf("key %d was added", i)
		}
		if k.mayHave(key("other", i)) {
			wrong++
		}
	}
	if limit := n / 1000; wrong > limit {
		t.Errorf("%d of %d other keys are taken for added ones, %d may be", wrong, n, limit)
	}
}

func TestKeySetOfNothing(t *testing.T) {
	if (&keySet{}).mayHave("a") {
		t.Error("it has a key")
	}
}

// What an owner's store never had isn't looked for in LevelDB, if it began without a row;
// what it has or had is.
func TestOwnerLooksForWhatItMayHave(t *testing.T) {
	writes := []Change{set("kept", "1", 0), set("written", "1", 1), set("written", "2", 2), set("gone", "1", 3), remove("gone", 4)}
	for _, c := range []struct {
		name   string
		before Change // in the table, before the owner's own
		never  error  // of a key that never had a row
	}{
		{"empty", Change{Applied: -1}, nil},
		{"a row", set("kept", "0", -1), leveldb.ErrClosed},
		{"a hidden row", set("!1", "0", -1), leveldb.ErrClosed},
		{"a row that is gone", remove("other", -1), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := following(t, c.before)
			noError(t, s.GoLive(0))
			for _, change := range writes {
				s.Stage(change)
			}
			wantRow(t, s, "written", "2")
			noError(t, s.Ack(1, len(writes)))
			for key, want := range map[string]string{"kept": "1", "written": "2", "gone": "", "never": ""} {
				wantRow(t, s, key, want)
			}
			noError(t, s.db.Close()) // now each look into LevelDB is an error
			for key, want := range map[string]error{"never": c.never, "gone": leveldb.ErrClosed, "kept": leveldb.ErrClosed} {
				if v, err := s.Get(key); v != nil || !errors.Is(err, want) {
					t.Errorf("%s: %q, %v; %v was due", key, v, err, want)
				}
			}
		})
	}
}
