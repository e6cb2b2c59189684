package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/codec"
)

// poisoned is an input of good records and one poison of each kind, with its folds.
func poisoned(t *testing.T) (input map[int32][]*sarama.ConsumerMessage, want map[int32]Expected, kinds map[string]codec.Outcome) {
	t.Helper()
	const partitions = 3
	lives := NewLives(rand.New(rand.NewPCG(1, 1)), partitions)
	input, want, kinds = map[int32][]*sarama.ConsumerMessage{}, map[int32]Expected{}, map[string]codec.Outcome{}
	add := func(m *sarama.ProducerMessage) *sarama.ConsumerMessage {
		c := &sarama.ConsumerMessage{Partition: m.Partition, Offset: int64(len(input[m.Partition]))}
		if m.Value != nil {
			c.Value, _ = m.Value.Encode()
			c.Value = append([]byte{}, c.Value...)
		}
		input[m.Partition] = append(input[m.Partition], c)
		return c
	}
	for _, m := range lives.Large() {
		add(m)
	}
	for range 1000 {
		add(lives.Next())
	}
	at := map[string]*sarama.ConsumerMessage{}
	for kind, poison := range lives.Poisons() {
		at[kind] = add(poison())
	}
	for p, records := range input {
		e, err := FoldAll(p, partitions, records)
		if err != nil {
			t.Fatal(err)
		}
		want[p] = e
	}
	for kind, m := range at {
		kinds[kind] = want[m.Partition].Outcome(m.Offset)
	}
	return input, want, kinds
}

// What is said to be poison is refused, each kind for its reason, and all else is applied.
func TestPoisonsAreRefused(t *testing.T) {
	input, want, kinds := poisoned(t)
	applied, seen := 0, map[codec.Outcome]bool{}
	for p, records := range input {
		for _, m := range records {
			if want[p].Outcome(m.Offset) == codec.OutcomeApplied {
				applied++
			}
		}
	}
	for kind, outcome := range kinds {
		if seen[outcome] = true; !outcome.Rejected() {
			t.Errorf("%s is %s", kind, outcome)
		}
	}
	if applied != 1000+largeSegments {
		t.Errorf("%d records are applied, want %d", applied, 1000+largeSegments)
	}
	for o := codec.OutcomeInvalidAdd; o < codec.OutcomePurge; o++ {
		if !seen[o] {
			t.Errorf("no kind is %s", o)
		}
	}
}

// A rejection that is missing, doubled or other than it must be is found.
func TestCheckRejectedFindsFaults(t *testing.T) {
	input, want, _ := poisoned(t)
	rejected := func(p int32) (all []*sarama.ConsumerMessage) {
		for _, m := range input[p] {
			if outcome := want[p].Outcome(m.Offset); outcome.Rejected() {
				all = append(all, rejection(fmt.Append(nil, m.Offset), outcome.String(), "why", m.Value))
			}
		}
		return all
	}
	for p := range input {
		if f := CheckRejected(rejected(p), input[p], want[p]); len(f) > 0 {
			t.Errorf("an honest one: %s", f)
		}
	}
	for name, plant := range map[string]func([]*sarama.ConsumerMessage) []*sarama.ConsumerMessage{
		"isn't among": func(r []*sarama.ConsumerMessage) []*sarama.ConsumerMessage { return r[1:] },
		"twice":       func(r []*sarama.ConsumerMessage) []*sarama.ConsumerMessage { return append(r, r[0]) },
		"want": func(r []*sarama.ConsumerMessage) []*sarama.ConsumerMessage {
			return altered(r, "applied", "why", r[0].Value)
		},
		"without a reason": func(r []*sarama.ConsumerMessage) []*sarama.ConsumerMessage { return altered(r, "", "", r[0].Value) },
		"other bytes":      func(r []*sarama.ConsumerMessage) []*sarama.ConsumerMessage { return altered(r, "", "why", []byte("x")) },
		"is among": func(r []*sarama.ConsumerMessage) []*sarama.ConsumerMessage {
			return append(r, rejection([]byte("0"), "Undecodable", "why", input[0][0].Value))
		},
		"isn't an input offset": func(r []*sarama.ConsumerMessage) []*sarama.ConsumerMessage {
			return append(r, rejection([]byte("9999"), "Undecodable", "why", nil))
		},
	} {
		f := CheckRejected(plant(rejected(0)), input[0], want[0])
		if !strings.Contains(f.String(), name) {
			t.Errorf("%q isn't found, but %q", name, f)
		}
	}
}

// altered replaces the first rejection; an empty outcome is the right one.
func altered(r []*sarama.ConsumerMessage, outcome, reason string, value []byte) []*sarama.ConsumerMessage {
	if outcome == "" {
		outcome = string(r[0].Headers[1].Value)
	}
	r[0] = rejection(r[0].Headers[0].Value, outcome, reason, value)
	return r
}

func rejection(offset []byte, outcome, reason string, value []byte) *sarama.ConsumerMessage {
	return &sarama.ConsumerMessage{Value: value, Headers: []*sarama.RecordHeader{
		{Key: []byte("rlmm.offset"), Value: offset},
		{Key: []byte("rlmm.outcome"), Value: []byte(outcome)},
		{Key: []byte("rlmm.reason"), Value: []byte(reason)},
	}}
}
