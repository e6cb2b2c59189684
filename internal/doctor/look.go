package doctor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/table"
)

// Options say how to look.
type Options struct {
	// Since is the time from which on rejected events are counted.
	Since time.Time
	// Settle is how long a lag may take to go away before it is one.
	Settle time.Duration
}

// Look asks the cluster, and changes nothing. What is denied to this client is a fact;
// another error means that too little could be seen to say anything.
func Look(ctx context.Context, c *kafka.Cluster, w Want, o Options) (Facts, error) {
	l := looker{cluster: c, want: w, options: o, facts: Facts{ClusterID: c.ID(), Rejections: map[codec.Outcome]Rejections{}}}
	for _, look := range []func(context.Context) error{l.brokers, l.topics, l.group, l.partitions, l.rejections, l.tiered, l.transactions} {
		if err := look(ctx); err != nil {
			return l.facts, err
		}
	}
	return l.facts, nil
}

type looker struct {
	cluster *kafka.Cluster
	want    Want
	options Options
	facts   Facts
}

// refused takes in an error that is a refusal, and returns any other.
func (l *looker) refused(err error) error {
	if !kafka.IsDenied(err) {
		return err
	}
	l.facts.Denied = append(l.facts.Denied, err)
	return nil
}

func (l *looker) brokers(ctx context.Context) error {
	for _, v := range l.cluster.BrokerVersions(ctx) {
		b := Broker{BrokerVersions: v}
		var err error
		if v.Err == nil {
			b.TieredStorage, _, err = l.cluster.BrokerConfig(ctx, v.ID, "remote.log.storage.system.enable")
		}
		// Who may not see brokers' settings misses this one only.
		if err != nil && !kafka.IsDenied(err) {
			return err
		}
		l.facts.Brokers = append(l.facts.Brokers, b)
	}
	return ctx.Err()
}

// settings are those that are judged.
var settings = []string{"cleanup.policy", "retention.ms", "retention.bytes", "delete.retention.ms", "min.insync.replicas", "max.message.bytes"}

func (l *looker) topics(ctx context.Context) error {
	for _, t := range []struct {
		name string
		into *Topic
	}{
		{l.want.Topic, &l.facts.Metadata},
		{table.TopicOf(l.want.Group), &l.facts.Table},
		{table.RejectedOf(l.want.Group), &l.facts.Rejected},
	} {
		var err error
		if *t.into, err = l.topic(ctx, t.name); err != nil {
			return err
		}
	}
	return nil
}

func (l *looker) topic(ctx context.Context, name string) (Topic, error) {
	t := Topic{Name: name}
	var err error
	t.TopicDetail, err = l.cluster.TopicDetail(ctx, name)
	switch {
	case errors.Is(err, kafka.ErrNoTopic):
		t.Missing = true
		return t, nil
	case kafka.IsDenied(err):
		t.Denied = err
		return t, nil
	case err != nil:
		return t, err
	}
	configs, err := l.cluster.Configs(ctx, []string{name}, settings...)
	t.Settings = configs[name]
	return t, err
}

func (l *looker) group(ctx context.Context) (err error) {
	if l.facts.Group, err = l.cluster.Group(ctx, l.want.Group); kafka.IsDenied(err) {
		l.facts.GroupDenied = err
		return nil
	}
	return err
}

// partitions looks at each metadata partition until the table has answered what was on it,
// or has had the time to.
func (l *looker) partitions(ctx context.Context) error {
	a, b := l.facts.Metadata, l.facts.Table
	if !a.isThere() || !b.isThere() {
		return nil
	}
	late, again := time.After(l.options.Settle), time.NewTicker(250*time.Millisecond)
	defer again.Stop()
	for number := range min(a.Partitions, b.Partitions) {
		p, err := l.partition(ctx, number)
		for waits := true; err == nil && p.Waiting >= 0 && waits; {
			select {
			case <-late:
				waits, late = false, closed
			case <-again.C:
				p, err = l.partition(ctx, number)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err != nil {
			return l.refused(err)
		}
		l.facts.Partitions = append(l.facts.Partitions, p)
	}
	return nil
}

// closed is a time that has come.
var closed = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// partition reads the table first: what the fleet does meanwhile makes the input's end
// later, never earlier than what the table answers.
func (l *looker) partition(ctx context.Context, number int32) (Partition, error) {
	p := Partition{Number: number, Applied: -1, Waiting: -1}
	if err := l.answered(ctx, &p); err != nil {
		return p, err
	}
	var err error
	if p.Start, err = l.cluster.StartOffset(ctx, l.want.Topic, number); err != nil {
		return p, err
	}
	if p.End, err = l.cluster.EndOffset(ctx, l.want.Topic, number); err != nil {
		return p, err
	}
	if next := p.Applied + 1; next < p.End {
		first, waits, err := l.cluster.FirstData(ctx, l.want.Topic, number, next, p.End)
		if err == nil && waits {
			p.Waiting = first
		}
		return p, err
	}
	return p, nil
}

// tail is how much of the end of a table's partition is read first.
const tail = 100

// answered reads the end of the table's partition, and more of it until an answer or a
// position says how far the input is applied.
func (l *looker) answered(ctx context.Context, p *Partition) error {
	name := l.facts.Table.Name
	start, err := l.cluster.StartOffset(ctx, name, p.Number)
	if err != nil {
		return err
	}
	p.TableStart = start
	end, err := l.cluster.EndOffset(ctx, name, p.Number)
	if err != nil {
		return err
	}
	for from, told := end, false; from > start && !told; {
		before := from
		from = max(start, from-tail)
		if told, err = l.answers(ctx, name, p, from, before); err != nil {
			return err
		}
	}
	return nil
}

// answers takes in a part of the table's partition, and tells whether it says how far the
// input is applied.
func (l *looker) answers(ctx context.Context, name string, p *Partition, from, end int64) (told bool, err error) {
	named := !p.TopicID.IsZero() // by what lies behind this part
	for r, err := range l.cluster.Records(ctx, name, p.Number, from, end) {
		if err != nil {
			return told, err
		}
		row, err := table.Parse(string(r.Key), r.Value, headersOf(r), time.Time{})
		if err != nil {
			p.Foreign = fmt.Errorf("offset %d: %w", r.Offset, err)
			continue
		}
		if row.Kind == table.Answer || row.Kind == table.Progress {
			told, p.Applied = true, max(p.Applied, row.Source)
		}
		if !named && row.Kind == table.Progress { // a fence may be of a processor that gave up
			p.ClusterID, p.TopicID = row.ClusterID, row.TopicID
		}
	}
	return told, nil
}

func headersOf(r kafka.Record) goka.Headers {
	headers := goka.Headers{}
	for _, h := range r.Headers {
		headers[string(h.Key)] = h.Value
	}
	return headers
}

func (l *looker) rejections(ctx context.Context) error {
	t := l.facts.Rejected
	for number := range t.Partitions {
		from, err := l.cluster.OffsetAt(ctx, t.Name, number, l.options.Since)
		if err != nil {
			return l.refused(err)
		}
		end, err := l.cluster.EndOffset(ctx, t.Name, number)
		if err != nil {
			return l.refused(err)
		}
		for r, err := range l.cluster.Records(ctx, t.Name, number, from, end) {
			if err != nil {
				return l.refused(err)
			}
			l.rejection(headersOf(r))
		}
	}
	return nil
}

func (l *looker) rejection(headers goka.Headers) {
	outcome, err := codec.ParseOutcome(string(headers["rlmm.outcome"]))
	if err != nil {
		return // another's record; it is on no topic that matters
	}
	l.facts.Rejections[outcome] = Rejections{
		Count:     l.facts.Rejections[outcome].Count + 1,
		Partition: string(headers["rlmm.partition"]), Offset: string(headers["rlmm.offset"]), Reason: string(headers["rlmm.reason"]),
	}
}

// tiered lists the topics with remote storage, where it matters how long they keep data.
func (l *looker) tiered(ctx context.Context) error {
	if ms, known := l.facts.Metadata.number("retention.ms"); !known || ms < 0 {
		return nil
	}
	topics, err := l.cluster.Topics(ctx)
	if err != nil {
		return l.refused(err)
	}
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Name
	}
	configs, err := l.cluster.Configs(ctx, names, "remote.storage.enable", "retention.ms")
	if err != nil {
		return l.refused(err)
	}
	for _, name := range names {
		ms, err := strconv.ParseInt(configs[name]["retention.ms"], 10, 64)
		if err == nil && configs[name]["remote.storage.enable"] == "true" {
			l.facts.Tiered = append(l.facts.Tiered, Tiered{name, retention(ms)})
		}
	}
	return nil
}

// retention is a setting in milliseconds; what a Duration can't hold is for ever.
func retention(ms int64) time.Duration {
	if ms < 0 || ms > int64(1<<63-1)/int64(time.Millisecond) {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

func (l *looker) transactions(ctx context.Context) error {
	name := table.TopicOf(l.want.Group)
	return l.refused(l.cluster.FindTransactionalID(ctx, name+"-0", name+"-"))
}
