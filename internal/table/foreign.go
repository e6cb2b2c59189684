package table

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/store"
)

// ForeignFenceError says that whoever fenced a partition of the table last folds another
// metadata topic. It may heal: nobody can write answers before a position, which a
// processor that finds the table to be another's never writes, and the partition's true
// owner fences it again.
type ForeignFenceError struct {
	Topic     string
	Partition int32
	// Offset is the fence's in the table.
	Offset int64
	// Have is what the fence names, Want what the table is made from.
	Have, Want store.Identity
}

// Error names both topics and the remedy.
func (e *ForeignFenceError) Error() string {
	return fmt.Sprintf("%s/%d was fenced at %d by a processor of metadata topic %s in cluster %s, not of %s in %s: stop it or give it another --group; the fleet takes the partition back by itself",
		e.Topic, e.Partition, e.Offset, e.Have.MetadataTopicID, e.Have.ClusterID, e.Want.MetadataTopicID, e.Want.ClusterID)
}

// Names tells whether the record says what the table is made from.
func (r Record) Names() bool { return r.Kind == Fence || r.Kind == Progress }

// MadeFrom returns the identity with the cluster and the metadata topic that the record
// names.
func (r Record) MadeFrom(id store.Identity) store.Identity {
	id.ClusterID, id.MetadataTopicID = r.ClusterID, r.TopicID
	return id
}

// ForeignRecordError says that somebody else has written under a row's key. Compaction may
// have taken what a processor wrote there before, so a reader that begins now can't tell
// what the row is. It heals: the partition's owner sees it and writes the row again.
type ForeignRecordError struct {
	Topic     string
	Partition int32
	// Offset is the record's in the table.
	Offset int64
	Key    string
}

// Error names the record and the remedy.
func (e *ForeignRecordError) Error() string {
	return fmt.Sprintf("%s/%d has a record at %d under the key %s that no processor wrote: take away others' right to write to the table; the fleet writes the row again by itself",
		e.Topic, e.Partition, e.Offset, e.Key)
}

// Doubts is the rows of a partition whose state a reader can't tell since somebody else
// wrote under their keys. The zero value has none. One goroutine at a time may use it.
type Doubts struct{ rows map[string]bool }

// Raise notes a record under the key that no processor wrote, or that isn't newer than
// what is applied, and returns whether there is now a doubt: not when none of the
// partition's rows can lie under the key. The store is marked: opened again before
// [Doubts.Settle] has settled the last doubt it is built anew.
func (d *Doubts) Raise(s *store.Store, key string, partition, partitions int32) (bool, error) {
	k, err := codec.ParseKey(key)
	if err != nil || codec.IsHidden(key) || codec.MetadataPartition(k.ID.TopicIdPartition, partitions) != partition {
		return false, nil
	}
	if d.rows == nil {
		d.rows = map[string]bool{}
	}
	d.rows[key] = true
	return true, s.Doubt()
}

// Any tells whether there is a doubt.
func (d *Doubts) Any() bool { return len(d.rows) > 0 }

// Keys are those of the rows, in order.
func (d *Doubts) Keys() []string { return slices.Sorted(maps.Keys(d.rows)) }

// Settle notes that a processor wrote the row.
func (d *Doubts) Settle(s *store.Store, key string) error {
	if !d.rows[key] {
		return nil
	}
	delete(d.rows, key)
	if d.Any() {
		return nil
	}
	return s.Believe()
}
