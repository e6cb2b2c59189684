package processor

import (
	"context"
	"fmt"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/processor/fold"
)

// repair writes the rows again under whose keys somebody else has written, and waits for
// the acknowledgements. Compaction leaves the last record of a key: else a reader that
// begins later would find no row, since it believes no foreign record. What the rows are
// after the input up to the applied offset the input itself says: compaction may have
// been faster than this owner too.
func (i *instance) repair(ctx context.Context, p int32, st *recovering, applied int64) error {
	keys := st.doubts.Keys()
	if len(keys) == 0 {
		return nil
	}
	rows, err := i.rowsOf(ctx, p, st, keys, applied)
	if err != nil {
		return fmt.Errorf("make %d rows anew: %w", len(keys), err)
	}
	i.log.Warn("writing rows again that others have written to", "partition", p, "rows", keys)
	acks := make(chan error, len(keys))
	for key, value := range rows {
		promise := i.writer.Write(table.Record{Kind: table.Repair, Key: key, Value: value, Source: applied, Outcome: codec.OutcomeRepair})
		promise.Then(func(err error) { acks <- err })
	}
	if err := await(ctx, acks, len(rows)); err != nil {
		return err
	}
	for _, key := range keys {
		if err := st.doubts.Settle(st.Store, key); err != nil {
			return err
		}
	}
	return nil
}

// await takes n acknowledgements, up to the first error.
func await(ctx context.Context, acks <-chan error, n int) error {
	for range n {
		select {
		case err := <-acks:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// lostRowsError says that somebody else has written under rows' keys and that nothing here
// tells what the rows were.
type lostRowsError struct {
	topic     string
	partition int32
	keys      []string
}

// Error names the remedy.
func (e lostRowsError) Error() string {
	return fmt.Sprintf("others have written to the rows %v of the table, and %s/%d, of which retention or compaction took records, doesn't tell them any more: start the processor that has them in its data folder; `rlmm reset` clears table and group and goes on with what is left",
		e.keys, e.topic, e.partition)
}

// Unhealable marks the error.
func (lostRowsError) Unhealable() {}

// rowsOf returns the values of rows, nil for none, from the input. When records of that are
// gone they are taken from a store that has read the table without a gap, else it is a
// lostRowsError.
func (i *instance) rowsOf(ctx context.Context, p int32, st *recovering, keys []string, applied int64) (map[string][]byte, error) {
	rows, complete, err := i.refold(ctx, p, keys, applied)
	if err != nil || complete {
		return rows, err
	}
	if st.gap {
		return nil, lostRowsError{i.cfg.MetadataTopic, p, keys}
	}
	i.log.Warn("the input lacks records, taking the rows from the local store", "partition", p)
	for _, key := range keys {
		if rows[key], err = st.Get(key); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// refold folds the input up to the offset for the keys alone, and tells whether all of it
// was still there: retention takes its beginning, compaction records between others.
func (i *instance) refold(ctx context.Context, p int32, keys []string, applied int64) (values map[string][]byte, complete bool, err error) {
	rows, values := make(map[string]*codec.Row, len(keys)), make(map[string][]byte, len(keys))
	for _, key := range keys {
		values[key] = nil
	}
	var seen int64
	for r, err := range i.cluster.All(ctx, i.cfg.MetadataTopic, p, 0, applied+1) {
		if err != nil {
			return nil, false, err
		}
		seen++
		if r.Control {
			continue
		}
		i.refoldRecord(rows, values, r)
	}
	return values, seen == applied+1, nil
}

// refoldRecord folds a record of the input when values has its row. One that can't be read
// was refused, and changed none.
func (i *instance) refoldRecord(rows map[string]*codec.Row, values map[string][]byte, r kafka.Record) {
	key := string(keyer{i.cfg.MetadataTopic, i.partitions}.key(r.Partition, r.Value))
	if _, wanted := values[key]; !wanted {
		return
	}
	event, err := codec.DecodeRecord(r.Value)
	if err != nil {
		return
	}
	next, _ := fold.Fold(rows[key], event, r.Offset)
	if value := i.rowBytes(next); len(value) <= i.limits.table-rowOverhead {
		rows[key], values[key] = next, value
	}
}
