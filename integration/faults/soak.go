package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// Soak is what a soak did and what came out.
type Soak struct {
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	// Published is how many events the load published, Inputs how many records the input
	// had in the end, with the observers' mutations; Answers, Fences and Purges are
	// records of the table.
	Published int `json:"published"`
	Inputs    int `json:"inputs"`
	Answers   int `json:"answers"`
	Fences    int `json:"fences"`
	Purges    int `json:"purges"`
	// Harms is how often each harm was done, Deeds when, in order.
	Harms map[string]int `json:"harms"`
	Deeds []Deed         `json:"deeds,omitempty"`
	// Sessions is in how many sessions of the group the processors have processed.
	Sessions int `json:"sessions"`
	// Stores is how many local stores were compared in the end, Rebuilt how many were
	// moved aside before.
	Stores  int `json:"stores"`
	Rebuilt int `json:"rebuilt"`
	// Observers is what each observer counted; Answered and Outcomes are sums by the
	// question, and by the error that a mutation came to.
	Observers map[string]Counts `json:"observers"`
	Answered  map[string]int    `json:"answered"`
	Outcomes  map[string]int    `json:"outcomes"`
	// StallSeconds is the longest time without an answer in the table, on all partitions
	// and on any one.
	StallSeconds struct {
		All float64 `json:"all"`
		One float64 `json:"one"`
	} `json:"stallSeconds"`
	// Memory is what the processes that live all the time needed.
	Memory map[string][]Weight `json:"memory,omitempty"`
	// Growth is by what share of its memory each of them had more at the end than at 20 %
	// of the time, as the function Growth has it. It is left out where too little was weighed.
	Growth map[string]float64 `json:"growth,omitempty"`
	// FalseAnswers is how much an observer was told that wasn't true, in answers and in
	// outcomes.
	FalseAnswers int `json:"falseAnswers"`
}

// Deed is a harm, when it was done, and how long all took to be well again after its end.
type Deed struct {
	AtSeconds     float64 `json:"atSeconds"`
	Harm          string  `json:"harm"`
	HealedSeconds float64 `json:"healedSeconds"`
}

// Weight is what a process needs at some time, its garbage collected.
type Weight struct {
	AtSeconds  float64 `json:"atSeconds"`
	HeapBytes  uint64  `json:"heapBytes"`
	RSSBytes   uint64  `json:"rssBytes"`
	Goroutines int     `json:"goroutines"`
	// Partitions is how many metadata partitions the process had.
	Partitions int `json:"partitions"`
}

// Growth compares the last third of the weights since a time with the first third: 0.1
// says that what the process holds, the median heap, has grown by a tenth of the memory
// that the process had, the median RSS. (The RSS itself has garbage in it, and the heap
// alone is so small that some buffers double it.) It needs six weights.
func Growth(weights []Weight, since float64) (growth float64, ok bool) {
	weights = slices.DeleteFunc(slices.Clone(weights), func(w Weight) bool { return w.AtSeconds < since })
	third := len(weights) / 3
	if third < 2 {
		return 0, false
	}
	first, last := weights[:third], weights[len(weights)-third:]
	heap := func(w Weight) uint64 { return w.HeapBytes }
	rss := func(w Weight) uint64 { return w.RSSBytes }
	return (median(last, heap) - median(first, heap)) / median(first, rss), true
}

// median is the lower of the two middle ones when there are two.
func median(weights []Weight, of func(Weight) uint64) float64 {
	bytes := make([]uint64, len(weights))
	for i, w := range weights {
		bytes[i] = of(w)
	}
	slices.Sort(bytes)
	return float64(bytes[(len(bytes)-1)/2])
}

// Write writes the report as JSON.
func (s Soak) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// String is the report without what was done and weighed when.
func (s Soak) String() string {
	s.Deeds, s.Memory = nil, nil
	var b strings.Builder
	if err := s.Write(&b); err != nil {
		return err.Error()
	}
	return b.String()
}

// Count adds what a recorder was told to the sums. The recorder must be stopped.
func (s *Soak) Count(r *Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.answers {
		s.Answered[a.query.kind.String()]++
	}
	for _, m := range r.mutations {
		s.Outcomes[outcomeName(m)]++
	}
}

// outcomeName is the mutation's error in a word.
func outcomeName(m mutation) string {
	name := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", m.err), "*api."), "Error")
	switch {
	case m.err == nil:
		return "applied"
	case errors.Is(m.err, api.ErrClosed):
		return "closed"
	case kindOf(m.err) == decided && m.position.Offset < 0:
		return name + ", unpublished"
	}
	return name
}
