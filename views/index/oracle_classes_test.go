package index_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/views/index"
)

// ask puts one question and classifies the answer.
func (o *oracle) ask(q question) {
	s := o.table.index.Snapshot()
	label := fmt.Sprintf("%s %d/%d", q.Q, q.Epoch, q.Offset)
	switch q.Q {
	case "get":
		got, _ := s.RemoteLogSegmentMetadata(q.Epoch, q.Offset)
		kafka := decode[string](o.t, q.Expect)
		o.count(label, o.classifyGet(q, got, kafka), brief(got), kafka)
	case "nextTxn":
		got, _ := s.NextSegmentWithTxnIndex(q.Epoch, q.Offset)
		kafka := decode[string](o.t, q.Expect)
		o.count(label, o.classifyNextTxn(q, got, kafka), brief(got), kafka)
	case "highest":
		got, ok := s.BoundedHighestOffsetForEpoch(q.Epoch)
		kafka := decode[*int64](o.t, q.Expect)
		o.count(label, o.classifyHighest(q.Epoch, got, ok, kafka), got, q.Expect)
	case "list":
		o.askList(label, q, s.ListRemoteLogSegmentsByEpoch(q.Epoch), carries(q.Epoch))
	case "listAll":
		o.askList(label, q, s.ListRemoteLogSegments(), func(*modelSegment) bool { return true })
	default:
		o.t.Fatalf("%s: unknown question %q", o.name, q.Q)
	}
}

// brief is how the oracle files print the answer of a look-up.
func brief(s *index.Segment) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s/%d", s.ID(), s.State())
}

func (o *oracle) classifyGet(q question, got *index.Segment, kafka string) string {
	right := o.containing(q.Epoch, q.Offset)
	switch {
	case brief(got) == kafka:
		return "equal"
	case !same(got, o.model.get(q.Epoch, q.Offset)):
		return ""
	case o.isReadded(brief(got), kafka): // the model went by the first add, and agrees
		return "second add"
	case got != nil && kafka == "" && slices.Contains(right, brief(got)):
		return "lost by Kafka"
	case got != nil && slices.Contains(right, brief(got)) && slices.Contains(right, kafka):
		return "two right segments"
	}
	return ""
}

// containing are the finished segments that contain the offset within the epoch.
func (o *oracle) containing(epoch int32, offset int64) (right []string) {
	for _, s := range o.model.finished(epoch) {
		if first, last := s.within(epoch); first <= offset && offset <= last {
			right = append(right, briefly(s))
		}
	}
	return right
}

func (o *oracle) classifyNextTxn(q question, got *index.Segment, kafka string) string {
	right := o.withTxnIndex(q.Epoch, q.Offset)
	switch {
	case brief(got) == kafka:
		return "equal"
	case !same(got, o.model.nextTxn(q.Epoch, q.Offset)):
		return ""
	case o.isReadded(brief(got), kafka):
		return "second add"
	case got != nil && kafka == "" && slices.Contains(right, brief(got)):
		return "Kafka stopped at a gap"
	case got != nil && slices.Contains(right, brief(got)) && slices.Contains(right, kafka):
		return "two right segments, this one begins first"
	}
	return ""
}

// withTxnIndex are the finished segments that may have a transaction index for the
// offset or a later one.
func (o *oracle) withTxnIndex(epoch int32, offset int64) (right []string) {
	for _, s := range o.model.finished(epoch) {
		if first, last := s.within(epoch); first <= last && offset <= last && !s.TxnIndexEmpty {
			right = append(right, briefly(s))
		}
	}
	return right
}

func (o *oracle) classifyHighest(epoch int32, got int64, ok bool, kafka *int64) string {
	reached, known := o.model.reached[epoch]
	switch {
	case ok == (kafka != nil) && (!ok || got == *kafka):
		return "equal"
	case ok == known && got == reached && o.readdedCarries(epoch):
		return "second add"
	}
	return ""
}

func (o *oracle) readdedCarries(epoch int32) bool {
	for id := range o.readded {
		for _, body := range o.bodies[id] {
			if _, ok := body.Find(epoch); ok {
				return true
			}
		}
	}
	return false
}

func (o *oracle) askList(label string, q question, got index.List, member func(*modelSegment) bool) {
	compareList(o.t, label, o.model.visible(member), got)
	kafka := map[string]string{}
	for _, line := range decode[[]string](o.t, q.Expect) {
		id, _, _ := strings.Cut(line, "/")
		kafka[id] = line
	}
	o.count(label, o.classifyList(q, got, kafka), got.Metadata(), string(q.Expect))
}

// classifyList knows that the list is the model's: it holds exactly the live segments
// that belong there, in order. What is left is to explain each entry that Kafka's
// lacks, has too many, or has in another form.
func (o *oracle) classifyList(q question, got index.List, kafka map[string]string) string {
	if q.Error != "" {
		return o.ifReadded("second add")
	}
	class := "equal"
	for s := range got.All {
		line, listed := kafka[s.ID().String()]
		delete(kafka, s.ID().String())
		switch {
		case listed && line == entry(s):
		case o.readded[s.ID()]:
			class = "second add"
		case !listed && q.Q == "list":
			class = "lost by Kafka"
		case listed && o.customWasCleared(s, line):
			class = "custom metadata cleared by Kafka"
		default:
			return ""
		}
	}
	if len(kafka) > 0 {
		return o.explainExtra(kafka)
	}
	return class
}

// customWasCleared tells whether Kafka's entry differs only in that it lost the custom
// metadata that an update gave, since a later update had none.
func (o *oracle) customWasCleared(s *index.Segment, kafka string) bool {
	form, _, _ := strings.Cut(entry(s), "/c")
	return kafka == form+"/c-" && o.cleared[s.ID()] && s.CustomMetadata() == o.given[s.ID()]
}

// explainExtra explains entries that only Kafka lists: what a second add left there.
func (o *oracle) explainExtra(kafka map[string]string) string {
	for id := range kafka {
		if parsed, err := api.ParseUUID(id); err != nil || !o.readded[parsed] {
			return ""
		}
	}
	return "second add"
}

func (o *oracle) ifReadded(class string) string {
	if len(o.readded) > 0 {
		return class
	}
	return ""
}

// isReadded tells whether a segment that one of the answers names was added twice.
func (o *oracle) isReadded(answers ...string) bool {
	for id := range o.readded {
		for _, answer := range answers {
			if strings.HasPrefix(answer, id.String()) {
				return true
			}
		}
	}
	return false
}

// entry is how the oracle files print a segment in a list.
func entry(s *index.Segment) string {
	custom := "-"
	if c := s.CustomMetadata(); c.Present() {
		custom = hex.EncodeToString(c.Bytes())
	}
	return fmt.Sprintf("%s/%d-%d/b%d/t%d/c%s", brief(s), s.StartOffset(), s.EndOffset(), s.BrokerID(), s.EventTimestampMs(), custom)
}

func briefly(s modelSegment) string { return fmt.Sprintf("%s/%d", s.ID.ID, s.State) }

func same(got *index.Segment, want *modelSegment) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	return got.Metadata().Equal(want.RemoteLogSegmentMetadata)
}
