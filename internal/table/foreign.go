package table

import (
	"fmt"

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
