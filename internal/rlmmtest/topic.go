package rlmmtest

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/recording"
	"github.com/tieredlog/rlmm/processor/fold"
)

// client is a client of the cluster; the caller closes it.
func (c *Cluster) client(opts ...kgo.Opt) *kgo.Client {
	c.t.Helper()
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.Settings.Bootstrap...))...)
	c.must(err)
	return client
}

// Read returns the data records that a partition of a topic holds now.
func (c *Cluster) Read(topic string, partition int32) []*kgo.Record {
	c.t.Helper()
	return c.ReadAll(topic)[partition]
}

// ReadAll returns the data records that a topic holds now, by partition.
func (c *Cluster) ReadAll(topic string) map[int32][]*kgo.Record {
	c.t.Helper()
	starts, left := map[int32]kgo.Offset{}, map[int32]int64{}
	for _, info := range c.PartitionInfos(topic) {
		if info.LogStartOffset < info.HighWatermark {
			starts[info.Partition] = kgo.NewOffset().At(info.LogStartOffset)
			left[info.Partition] = info.HighWatermark
		}
	}
	client := c.client(kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}))
	defer client.Close()
	records := map[int32][]*kgo.Record{}
	for len(left) > 0 {
		fetched := client.PollFetches(c.ctx)
		c.must(fetched.Err())
		for r := range fetched.RecordsAll() {
			if !r.Attrs.IsControl() {
				records[r.Partition] = append(records[r.Partition], r)
			}
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
		}
	}
	return records
}

// Answers are the table records that answer input records of a metadata partition.
func (c *Cluster) Answers(partition int32) []*kgo.Record {
	c.t.Helper()
	return answers(c.Read(Table, partition))
}

func answers(records []*kgo.Record) []*kgo.Record {
	return slices.DeleteFunc(records, func(r *kgo.Record) bool { return !isAnswer(r) })
}

func isAnswer(r *kgo.Record) bool {
	_, answers := Header(r, "rlmm.offset")
	text, _ := Header(r, "rlmm.outcome")
	outcome, err := codec.ParseOutcome(text)
	return answers && err == nil && outcome.Answers()
}

// Outcomes are the outcomes of a metadata partition's records, in order.
func (c *Cluster) Outcomes(partition int32) []string {
	c.t.Helper()
	var outcomes []string
	for _, r := range c.Answers(partition) {
		outcome, _ := Header(r, "rlmm.outcome")
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// Header is the value of a record's header, and whether it is there.
func Header(r *kgo.Record, key string) (string, bool) {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value), true
		}
	}
	return "", false
}

// Rows are the rows that the table holds, by key.
func (c *Cluster) Rows() map[string]string {
	c.t.Helper()
	rows := map[string]string{}
	for _, records := range c.ReadAll(Table) {
		for _, r := range records {
			switch {
			case codec.IsHidden(string(r.Key)):
			case r.Value == nil:
				delete(rows, string(r.Key))
			default:
				rows[string(r.Key)] = string(r.Value)
			}
		}
	}
	return rows
}

// Applied tells whether everything on the metadata topic has its answer in the table.
func (c *Cluster) Applied() bool {
	c.t.Helper()
	rows := c.ReadAll(Table)
	for p, input := range c.ReadAll(MetadataTopic) {
		if len(answers(rows[p])) < len(input) {
			return false
		}
	}
	return true
}

// WaitApplied waits until everything on the metadata topic has its answer in the table.
func (c *Cluster) WaitApplied() {
	c.t.Helper()
	c.WaitFor("the table answers every record", c.Applied)
}

// VerifyTable fails the test unless the table, never compacted, has one answer for each
// record of the metadata topic, in order, and its rows are what those records come to.
func (c *Cluster) VerifyTable() {
	c.t.Helper()
	want := map[string]string{}
	inputs, rows := c.ReadAll(MetadataTopic), c.ReadAll(Table)
	for p := range c.Partitions {
		c.verifyAnswers(p, inputs[p], answers(rows[p]))
		foldInto(want, p, c.Partitions, inputs[p])
	}
	got := c.Rows()
	for key, row := range want {
		if got[key] != row {
			c.t.Errorf("row %s is %x, want %x", key, got[key], row)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			c.t.Errorf("the table has a row %s that no event made", key)
		}
	}
}

func (c *Cluster) verifyAnswers(p int32, input, answers []*kgo.Record) {
	c.t.Helper()
	if len(answers) != len(input) {
		c.t.Errorf("partition %d: %d answers to %d records", p, len(answers), len(input))
	}
	for i := range min(len(answers), len(input)) {
		got, _ := Header(answers[i], "rlmm.offset")
		if got != strconv.FormatInt(input[i].Offset, 10) || len(answers[i].Headers) != 4 {
			c.t.Errorf("partition %d: answer %d has headers %v, want offset %d, its outcome, writer and sum", p, i, answers[i].Headers, input[i].Offset)
		}
	}
}

// foldInto folds a partition's records by brute force.
func foldInto(rows map[string]string, partition, partitions int32, input []*kgo.Record) {
	state := map[string]*codec.Row{}
	for _, r := range input {
		event, err := codec.DecodeRecord(r.Value)
		if err != nil || codec.MetadataPartition(event.Partition(), partitions) != partition {
			continue
		}
		key := codec.EventKey(event)
		state[key], _ = fold.Fold(state[key], event, r.Offset)
	}
	for key, row := range state {
		if row != nil {
			rows[key] = string(codec.EncodeRow(*row))
		}
	}
}

// PublishTo appends raw records to any topic, each to the partition that it names.
func (c *Cluster) PublishTo(records ...*kgo.Record) {
	c.t.Helper()
	client := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer client.Close()
	c.must(client.ProduceSync(c.Context(), records...).FirstErr())
}

// PublishInTransaction appends records to the metadata topic in one transaction that is
// committed: control records follow them.
func (c *Cluster) PublishInTransaction(records ...recording.Event) {
	c.t.Helper()
	raw := make([]*kgo.Record, len(records))
	for i, r := range records {
		raw[i] = &kgo.Record{Partition: r.Partition, Value: r.Value}
	}
	c.TransactOn(MetadataTopic, raw...)
}

// TransactOn is PublishInTransaction for any topic.
func (c *Cluster) TransactOn(topic string, records ...*kgo.Record) {
	c.t.Helper()
	client := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("rlmmtest"))
	defer client.Close()
	c.must(client.BeginTransaction())
	for _, r := range records {
		r.Topic = topic
		c.must(client.ProduceSync(c.Context(), r).FirstErr())
	}
	c.must(client.EndTransaction(c.Context(), kgo.TryCommit))
}

// AddPartitions makes a topic have n partitions.
func (c *Cluster) AddPartitions(topic string, n int) {
	c.t.Helper()
	client := c.client()
	defer client.Close()
	responses, err := kadm.NewClient(client).UpdatePartitions(c.ctx, n, topic)
	c.must(err)
	c.must(responses.Error())
}

// AlterTopic sets one of a topic's settings.
func (c *Cluster) AlterTopic(topic, name, value string) {
	c.t.Helper()
	client := c.client()
	defer client.Close()
	set := kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &value}
	responses, err := kadm.NewClient(client).AlterTopicConfigs(c.ctx, []kadm.AlterConfig{set}, topic)
	c.must(err)
	c.must(responses[0].Err)
}
