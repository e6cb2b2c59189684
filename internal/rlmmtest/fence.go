package rlmmtest

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
)

// Fence is the record with which a processor of another metadata topic, in the cluster
// of the partition's last fence, fences a partition of the table.
func (c *Cluster) Fence(partition int32, topic api.UUID) *kgo.Record {
	c.t.Helper()
	key := codec.RejectedKey(partition)
	fence := &kgo.Record{Topic: Table, Partition: partition, Key: []byte(key)}
	for _, r := range c.Read(Table, partition) {
		if cluster, ok := Header(r, "rlmm.cluster.id"); ok {
			fence.Headers = []kgo.RecordHeader{
				{Key: "rlmm.cluster.id", Value: []byte(cluster)}, {Key: "rlmm.topic.id", Value: []byte(topic.String())},
			}
		}
	}
	return fence
}
