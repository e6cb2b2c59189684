package apitest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/internal/scenario"
)

// Sequences are short since a manager on a real topic takes milliseconds for each event.
const (
	randomSequences = 3
	randomEvents    = 50
	randomSegments  = 10
	randomEpochs    = 4
	randomOffsets   = 60
)

// randomRules compare the manager with [Manager], call by call. The sequences are the
// same in each run.
func randomRules() []rule {
	rules := make([]rule, randomSequences)
	for seed := range rules {
		rules[seed] = rule{fmt.Sprintf("sequence %d answers as the manager in memory", seed), func(t *trial) {
			t.compares(rand.New(rand.NewPCG(uint64(seed), 0)))
		}}
	}
	return rules
}

// compares puts random events to both managers and then asks both all questions.
func (t *trial) compares(r *rand.Rand) {
	t.Helper()
	memory := NewManager()
	memory.bounded = t.bounded
	var history strings.Builder
	for range randomEvents {
		event := t.randomEvent(r)
		fmt.Fprintf(&history, "%T %+v\n", event, event)
		_, want := scenario.Publish(t.ctx, memory, event)
		_, got := scenario.Publish(t.ctx, t.m, event)
		if diff := diffErrors(want, got); diff != "" {
			t.Fatalf("outcome of the last of these: %s\n%s", diff, &history)
		}
		if diff := t.diffAnswers(r, memory); diff != "" {
			t.Fatalf("%s\nafter\n%s", diff, &history)
		}
	}
}

// diffAnswers asks both managers every query, for each epoch at a random offset.
func (t *trial) diffAnswers(r *rand.Rand, memory *Manager) string {
	t.Helper()
	for epoch := range int32(randomEpochs + 1) {
		offset := r.Int64N(randomOffsets)
		want := reads(t.ctx, memory, t.tip, epoch, offset)
		for query, read := range reads(t.ctx, t.m, t.tip, epoch, offset) {
			wantText, _ := want[query]()
			if got, err := read(); err != nil || got != wantText {
				return fmt.Sprintf("%s, epoch %d, offset %d: got\n%s (%v), want\n%s", query, epoch, offset, got, err, wantText)
			}
		}
	}
	return ""
}

// randomEvent is mostly one that might be accepted.
func (t *trial) randomEvent(r *rand.Rand) api.RemoteLogMetadata {
	switch n := r.IntN(100); {
	case n < 35:
		return t.randomSegment(r)
	case n < 95:
		return t.randomUpdate(r)
	}
	d := t.deletion(api.RemotePartitionDeleteState(r.IntN(3)))
	d.EventTimestampMs = r.Int64N(1000)
	return d
}

func (t *trial) randomSegment(r *rand.Rand) api.RemoteLogSegmentMetadata {
	start := r.Int64N(randomOffsets / 2)
	s := t.segment(r.Uint64N(randomSegments), start, start+r.Int64N(randomOffsets)-2, randomLeaderEpochs(r, start)...)
	s.SegmentSizeInBytes = r.Int32N(1000)
	s.TxnIndexEmpty = r.IntN(2) == 0
	s.CustomMetadata = randomCustomMetadata(r)
	return s
}

// randomLeaderEpochs may begin before the segment and be empty within it.
func randomLeaderEpochs(r *rand.Rand, start int64) []api.EpochOffset {
	var epochs []api.EpochOffset
	epoch, offset := r.Int32N(2), max(0, start-r.Int64N(5))
	for epoch < randomEpochs {
		epochs = append(epochs, at(epoch, offset))
		epoch += 1 + r.Int32N(3)
		offset += r.Int64N(randomOffsets / 2)
	}
	return epochs
}

func randomCustomMetadata(r *rand.Rand) api.CustomMetadata {
	if r.IntN(2) == 0 {
		return api.CustomMetadata{}
	}
	return api.NewCustomMetadata(make([]byte, r.IntN(3)))
}

// randomStates has the states of updates as often as they are drawn: most segments should
// be finished for a while, so that there is something to find.
var randomStates = slices.Concat(
	slices.Repeat([]api.RemoteLogSegmentState{api.CopySegmentFinished}, 12),
	slices.Repeat([]api.RemoteLogSegmentState{api.DeleteSegmentStarted, api.DeleteSegmentFinished}, 2),
	[]api.RemoteLogSegmentState{api.CopySegmentStarted},
)

func (t *trial) randomUpdate(r *rand.Rand) api.RemoteLogSegmentMetadataUpdate {
	return api.RemoteLogSegmentMetadataUpdate{
		ID: t.segment(r.Uint64N(randomSegments), 0, 0).ID, State: randomStates[r.IntN(len(randomStates))],
		BrokerID: r.Int32N(10), EventTimestampMs: r.Int64N(1000), CustomMetadata: randomCustomMetadata(r),
	}
}
