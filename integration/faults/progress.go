package faults

import (
	"slices"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/internal/table"
)

// Stall is the longest time without an answer in the table.
type Stall struct {
	// All is without an answer on any partition, One without one on some partition.
	All, One time.Duration
}

// LongestStall looks for stalls that ended between two times, by the times of the
// table's records, each partition's in order. The load must have gone on all the time.
func LongestStall(tables map[int32][]*sarama.ConsumerMessage, from, to time.Time) (s Stall) {
	var times [][]time.Time
	for _, records := range tables {
		answered := answerTimes(records)
		s.One = max(s.One, longestGap(answered, from, to))
		times = append(times, answered)
	}
	s.All = longestGap(merged(times), from, to)
	return s
}

func answerTimes(records []*sarama.ConsumerMessage) (times []time.Time) {
	for _, m := range records {
		r, err := table.Parse(string(m.Key), m.Value, goka.HeadersFromSarama(m.Headers), m.Timestamp)
		if err == nil && r.Kind == table.Answer {
			times = append(times, m.Timestamp)
		}
	}
	return times
}

// longestGap is the longest time from one of the times to the next one, which lies
// between from and to.
func longestGap(times []time.Time, from, to time.Time) (gap time.Duration) {
	for i := 1; i < len(times); i++ {
		if times[i].After(from) && !times[i].After(to) {
			gap = max(gap, times[i].Sub(times[i-1]))
		}
	}
	return gap
}

func merged(times [][]time.Time) []time.Time {
	all := slices.Concat(times...)
	slices.SortFunc(all, time.Time.Compare)
	return all
}
