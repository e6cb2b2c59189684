package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/tieredlog/rlmm/api"
)

// lookAfter is the first look that began behind the time.
func (r *Recorder) lookAfter(time int64) (look, bool) {
	i := sort.Search(len(r.looks), func(i int) bool { return r.looks[i].started > time })
	if i == len(r.looks) {
		return look{}, false
	}
	return r.looks[i], true
}

// Judge compares everything that the manager said with the history: each answer must be
// the true one at an offset that the manager may have been at, each outcome must be the
// fold's. The recorder must be stopped, and the history be of the whole input.
func (r *Recorder) Judge(h *History) (Counts, Findings) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := slices.Clone(r.findings)
	r.judgeAnswers(h, &f)
	r.judgeMutations(h, &f)
	return r.counts, f
}

// seen is what an answer proves to be applied for those who ask after it.
type seen struct{ ended, offset int64 }

func (r *Recorder) judgeAnswers(h *History, f *Findings) {
	slices.SortFunc(r.answers, func(a, b answered) int { return cmp.Compare(a.ended, b.ended) })
	known := make([][]seen, r.o.Partitions)
	for _, a := range r.answers {
		p := r.partitionOf(a.query.tip)
		a.lower = max(a.lower, before(known[p], a.started))
		at, ok := r.judge(h, a, f)
		if n := len(known[p]); ok && (n == 0 || known[p][n-1].offset < at) {
			known[p] = append(known[p], seen{a.ended, at})
		}
	}
	r.counts.Judged = len(r.answers)
}

// before is the greatest offset that was proved before the time.
func before(known []seen, time int64) int64 {
	i := sort.Search(len(known), func(i int) bool { return known[i].ended >= time })
	if i == 0 {
		return -1
	}
	return known[i-1].offset
}

// judge returns the first offset at which the answer was true within its bounds.
func (r *Recorder) judge(h *History, a answered, f *Findings) (int64, bool) {
	upper := r.upper(h, a)
	held := h.between(a.query.tip, a.lower, upper)
	for _, v := range held {
		if a.query.of(v.state) == a.answer {
			return v.offset, true
		}
	}
	f.add("%s: %s is %s; from %d to %d it is %s … %s; true %s", r.o.Name, a.query, a.answer, a.lower, upper,
		a.query.of(held[0].state), a.query.of(held[len(held)-1].state), h.when(a))
	return 0, false
}

// when tells at which offset a false answer was or would be true.
func (h *History) when(a answered) string {
	past, future := "", ""
	for _, v := range h.between(a.query.tip, -1, 1<<62) {
		switch {
		case a.query.of(v.state) != a.answer:
		case v.offset <= a.lower:
			past = fmt.Sprintf("at %d, before", v.offset)
		case future == "":
			future = fmt.Sprintf("at %d, after", v.offset)
		}
	}
	return cmp.Or(past+future, "never")
}

// Final asks everything of a manager that has nothing left to wait for: each answer must
// be the true one at the history's end.
func (r *Recorder) Final(ctx context.Context, h *History) (asked int, f Findings) {
	tips := slices.Concat(r.o.UserPartitions, r.owned())
	for _, tip := range tips {
		for _, q := range allQueries(tip) {
			answer, err := q.ask(ctx, r.o.Manager)
			if err != nil {
				f.add("%s: %s fails at the end: %v", r.o.Name, q, err)
				break
			}
			if want := q.of(h.End(tip)); answer != want {
				f.add("%s: %s is %s at the end, want %s", r.o.Name, q, answer, want)
			}
			asked++
		}
	}
	return asked, f
}

// CaughtUp tells whether the manager says of every metadata partition that it is ready
// and has applied everything.
func (r *Recorder) CaughtUp(ctx context.Context) bool { return r.Behind(ctx) == nil }

// Behind is what the manager says of a metadata partition that isn't caught up; nil when
// all are.
func (r *Recorder) Behind(ctx context.Context) error {
	for _, tip := range r.onePerPartition() {
		if err := r.behind(ctx, tip); err != nil {
			return err
		}
	}
	return nil
}

// AwaitEach waits until the manager has said of each metadata partition that it is caught
// up, of one after the other: under load it may not be so of all at the same time. It
// returns what the manager says when the context ends first.
func (r *Recorder) AwaitEach(ctx context.Context, pause time.Duration) error {
	for _, tip := range r.onePerPartition() {
		tick := time.NewTicker(pause)
		defer tick.Stop()
		for err := r.behind(ctx, tip); err != nil; err = r.behind(ctx, tip) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return err
			}
		}
	}
	return nil
}

// onePerPartition are user partitions, one for each metadata partition that has any.
func (r *Recorder) onePerPartition() (tips []api.TopicIdPartition) {
	done := map[int32]bool{}
	for _, tip := range slices.Concat(r.o.UserPartitions, r.owned()) {
		if p := r.partitionOf(tip); !done[p] {
			done[p] = true
			tips = append(tips, tip)
		}
	}
	return tips
}

// behind is Behind for the user partition's metadata partition alone.
func (r *Recorder) behind(ctx context.Context, tip api.TopicIdPartition) error {
	yes, err := r.o.Manager.CaughtUp(ctx, tip)
	if err == nil && !yes {
		err = errors.New("not caught up")
	}
	if err != nil {
		return fmt.Errorf("metadata partition %d: %w", r.partitionOf(tip), err)
	}
	return nil
}
