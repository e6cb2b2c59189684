package table

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
)

// Of the records whose answers are on their way any may be lost: at the end of the log, or
// before others that were read since.
func TestPendingRecordsThatAreLost(t *testing.T) {
	w := newWorld(t, nil)
	client, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	noError(t, err)
	defer client.Close()
	at := time.UnixMilli(1000)
	var pending []store.Mark
	for offset, value := range []string{"a", "b", "c", "d"} {
		noError(t, client.ProduceSync(w.ctx, &kgo.Record{Topic: tableTopic, Value: []byte(value), Timestamp: at}).FirstErr())
		pending = append(pending, store.Mark{Offset: int64(offset), Sum: InputSum(at, []byte(value))})
	}
	c, err := kafka.Connect(w.ctx, kafka.Settings{Bootstrap: []string{w.addr}})
	noError(t, err)
	defer c.Close()
	other := InputSum(at, []byte("x"))
	for _, tt := range []struct {
		name    string
		pending []store.Mark
		regrown int64 // the offset of a record that is another one
		end     bool
	}{
		{name: "nothing", regrown: -1},
		{name: "all are there", pending: pending, regrown: -1},
		{name: "the first", pending: []store.Mark{{Offset: 0, Sum: other}, pending[2]}, regrown: 0},
		{name: "one between", pending: []store.Mark{pending[0], {Offset: 2, Sum: other}, pending[3]}, regrown: 2},
		{name: "the last", pending: []store.Mark{pending[1], {Offset: 3, Sum: other}}, regrown: 3},
		{name: "behind the end", pending: append(pending[:4:4], store.Mark{Offset: 4, Sum: other}), regrown: -1, end: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckPending(w.ctx, c, tableTopic, 0, tt.pending)
			var regrown *kafka.RegrownError
			var truncated *kafka.TruncatedError
			if errors.As(err, &regrown) != (tt.regrown >= 0) || regrown != nil && regrown.Offset != tt.regrown ||
				errors.As(err, &truncated) != tt.end || (err == nil) != (tt.regrown < 0 && !tt.end) {
				t.Errorf("%v", err)
			}
		})
	}
}
