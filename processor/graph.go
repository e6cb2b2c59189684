package processor

import (
	"fmt"
	"strconv"

	"github.com/lovoo/goka"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor/fold"
)

// rowOverhead is what a table record needs beside its row, and a rejected event beside
// its raw bytes: key, headers, framing.
const rowOverhead = 2 << 10

// maxReason bounds the reason of a rejection, in characters: it may name a topic of any
// length.
const maxReason = 256

// graph is the goka group graph: one input, one table, and the rejected events.
func (i *instance) graph() *goka.GroupGraph {
	return goka.DefineGroup(goka.Group(i.cfg.Group),
		goka.Input(goka.Stream(i.cfg.MetadataTopic), inputCodec{}, i.process),
		goka.Output(goka.Stream(i.cfg.rejected()), rawCodec{}),
		goka.Persist(rawCodec{}),
	)
}

// process answers one input record with one table record, and before that a rejection
// when it is refused.
func (i *instance) process(ctx goka.Context, msg any) {
	i.rowLocks[ctx.Partition()].Lock()
	defer i.rowLocks[ctx.Partition()].Unlock()
	in := msg.(input) //nolint:forcetypeassert // inputCodec gives nothing else
	if in.err != nil || codec.IsHidden(ctx.Key()) {
		i.refuse(ctx, in)
		return
	}
	old, row := i.row(ctx)
	next, outcome := fold.Fold(row, in.event, ctx.Offset())
	value := old
	if next != row || next != nil && codec.RowVersionOf(old) != i.cfg.RowVersion {
		value = i.rowBytes(next)
	}
	if len(value) > i.limits.table-rowOverhead {
		value, outcome = nil, codec.OutcomeTooLarge // the old row stays: see table.Writer
	}
	if outcome.Rejected() {
		i.reject(ctx, ctx.Key(), in, outcome, fmt.Errorf("%s: %s", outcome, ctx.Key()))
	}
	i.answering(ctx, in, outcome)
	if value == nil {
		ctx.Delete()
	} else {
		ctx.SetValue(value)
	}
	i.count(in.event, outcome)
}

// refuse answers a record that is of no row.
func (i *instance) refuse(ctx goka.Context, in input) {
	outcome, reason := in.refusal(ctx.Partition(), i.partitions)
	i.reject(ctx, codec.RejectedKey(ctx.Partition()), in, outcome, reason)
	i.answering(ctx, in, outcome)
	ctx.Delete() // under the hidden key: see table.Writer
	i.count(in.event, outcome)
}

// answering tells the table's writer what the record is that goka emits next.
func (i *instance) answering(ctx goka.Context, in input, outcome codec.Outcome) {
	i.writer.Answer(ctx.Partition(), table.Answered{
		Offset: ctx.Offset(), Outcome: outcome, Input: table.InputSum(ctx.Timestamp(), in.raw),
	})
}

// row returns the key's row as bytes and decoded, nil when there is none. A row that
// can't be read ends the processor: a newer member wrote it.
func (i *instance) row(ctx goka.Context) ([]byte, *codec.Row) {
	value, _ := ctx.Value().([]byte)
	if value == nil {
		return nil, nil
	}
	row, err := table.DecodeRow(ctx.Key(), value)
	if err != nil {
		i.giveUp(fmt.Errorf("row %q: %w", ctx.Key(), err))
		ctx.Fail(err)
	}
	return value, &row
}

func (i *instance) rowBytes(row *codec.Row) []byte {
	if row == nil {
		return nil
	}
	return i.cfg.RowVersion.EncodeRow(*row)
}

// reject sends a refused record to the rejected events, with the reason, before its
// answer: the table's writer holds that back until the rejection is taken. What is larger
// than the topic takes is cut: a refusal must not stop the partition.
func (i *instance) reject(ctx goka.Context, key string, in input, outcome codec.Outcome, reason error) {
	headers := table.AnswerHeaders(ctx.Offset(), outcome)
	headers["rlmm.partition"] = strconv.AppendInt(nil, int64(ctx.Partition()), 10)
	headers["rlmm.reason"] = fmt.Appendf(nil, "%.*s", maxReason, reason)
	var raw any // an untyped nil keeps a null value null
	if in.raw != nil {
		raw = in.raw[:min(len(in.raw), max(0, i.limits.rejected-rowOverhead))]
	}
	ctx.Emit(goka.Stream(i.cfg.rejected()), key, raw, goka.WithCtxEmitHeaders(headers))
	i.log.Debug("event rejected", "partition", ctx.Partition(), "offset", ctx.Offset(), "outcome", outcome.String(), "reason", reason)
}
