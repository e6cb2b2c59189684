package faults

import (
	"testing"
	"time"

	"github.com/IBM/sarama"
)

func TestLongestStall(t *testing.T) {
	at := func(s float64) time.Time { return time.UnixMilli(int64(1e6 + 1000*s)) }
	answers := func(seconds ...float64) (records []*sarama.ConsumerMessage) {
		for _, s := range seconds {
			records = append(records, &sarama.ConsumerMessage{Key: []byte("!0"), Timestamp: at(s), Headers: []*sarama.RecordHeader{
				{Key: []byte("rlmm.offset"), Value: []byte("1")}, {Key: []byte("rlmm.outcome"), Value: []byte("NullValue")},
			}})
		}
		return records
	}
	tables := map[int32][]*sarama.ConsumerMessage{
		0: answers(0, 1, 2, 8, 9, 20),
		1: append(answers(0, 1, 5), answers(9, 20)...),
	}
	for _, c := range []struct {
		name     string
		from, to float64
		want     Stall
	}{
		{"begins before and ends within", 3, 9, Stall{All: 3 * time.Second, One: 6 * time.Second}},
		{"ends later", 9, 10, Stall{}},
		{"begins long before", 12, 20, Stall{All: 11 * time.Second, One: 11 * time.Second}},
		{"no stall", 0, 1, Stall{All: time.Second, One: time.Second}},
	} {
		if got := LongestStall(tables, at(c.from), at(c.to)); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestIsCompacted(t *testing.T) {
	var records []*sarama.ConsumerMessage
	for offset, key := range []string{"a", "b", "c", "a"} {
		records = append(records, &sarama.ConsumerMessage{Offset: int64(offset), Key: []byte(key)})
	}
	if !IsCompacted(records, 3) || IsCompacted(records, 4) || !IsCompacted(nil, 9) {
		t.Error("a key is twice below 4, none below 3")
	}
}
