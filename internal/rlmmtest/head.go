package rlmmtest

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/embedded"
)

// KeepTableHead makes the table begin at offset 0 whatever is compacted, as it does in
// Kafka: kfake has it begin at the first record that is left. It is for before the first
// processor, creates what is missing, and puts a fence that nothing supersedes there.
func (c *Cluster) KeepTableHead() {
	c.t.Helper()
	if c.TopicInfo(MetadataTopic) == nil {
		c.must(c.CreateTopic(MetadataTopic, c.Partitions, nil))
	}
	if c.TopicInfo(Table) == nil {
		c.must(c.CreateTopic(Table, c.Partitions, map[string]string{"cleanup.policy": "compact"}))
	}
	headers := []kgo.RecordHeader{
		{Key: "rlmm.cluster.id", Value: []byte(embedded.ClusterID)},
		{Key: "rlmm.topic.id", Value: []byte(api.UUID(c.TopicInfo(MetadataTopic).TopicID).String())},
	}
	for p := range c.Partitions {
		c.PublishTo(&kgo.Record{Topic: Table, Partition: p, Key: []byte(codec.RejectedKey(1 << 20)), Headers: headers, Value: []byte{}})
	}
}
