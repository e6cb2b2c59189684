package processor

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/tieredlog/rlmm/internal/kafka"
)

// limits are max.message.bytes of the three topics: what one batch may have, and so one
// record.
type limits struct{ input, table, rejected int }

// check returns an error for a table that takes less than the metadata topic: an event
// that Kafka has taken might have no place in it.
func (l limits) check(table string) error {
	if l.table >= l.input {
		return nil
	}
	return &kafka.MismatchError{Topic: table, Setting: "max.message.bytes", Want: fmt.Sprintf("%d or more", l.input), Got: strconv.Itoa(l.table)}
}

func (i *instance) limit(ctx context.Context, topic string) (int, error) {
	n, err := i.cluster.TopicConfigInt(ctx, topic, "max.message.bytes")
	return int(n), err
}

// checkLimits returns errTopicsChanged when the topics take more or less by now than
// this instance goes by: the next one learns it. While the table takes less than the
// metadata topic it returns nothing but warns: who lowered that must raise it again, and
// an instance that goes on loses nothing meanwhile.
func (i *instance) checkLimits(ctx context.Context) error {
	now, err := i.readLimits(ctx)
	if err != nil {
		return err
	}
	if err := now.check(i.cfg.table()); err != nil {
		i.log.Warn("the table takes too little, what doesn't fit waits until that is mended", "error", err)
		return nil
	}
	if now != i.limits {
		return fmt.Errorf("%w: max.message.bytes of metadata topic, table, rejected events is %d, was %d", errTopicsChanged, now, i.limits)
	}
	return nil
}

func (i *instance) readLimits(ctx context.Context) (now limits, err error) {
	if now.input, err = i.limit(ctx, i.cfg.MetadataTopic); err != nil {
		return now, err
	}
	if now.table, err = i.limit(ctx, i.cfg.table()); err != nil {
		return now, err
	}
	now.rejected, err = i.limit(ctx, i.cfg.rejected())
	return now, err
}

// refused is told by the table's writer that a record no longer fits.
func (i *instance) refused(ctx context.Context, partition int32) {
	i.log.Warn("the table refuses a record for its size", "partition", partition)
	i.learnLimits(ctx)
}

// rejectionFailed is told by the table's writer that rejected events aren't taken: the
// partition waits for them. They may be too large by now.
func (i *instance) rejectionFailed(ctx context.Context, partition int32, err error) {
	i.log.Warn("rejected events aren't taken, trying again", "topic", i.cfg.rejected(), "partition", partition, "error", err)
	i.learnLimits(ctx)
}

// learnLimits ends the instance when another one would know better.
func (i *instance) learnLimits(ctx context.Context) {
	if err := i.checkLimits(ctx); errors.Is(err, errTopicsChanged) {
		i.end(err)
	}
}

// end has the watch end the instance.
func (i *instance) end(err error) {
	select {
	case i.changed <- err:
	default: // it is told already
	}
}
