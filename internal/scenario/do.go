package scenario

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// Applied is the answer to an event that was accepted.
const Applied = "applied"

// outcomes are the names of what becomes of an event that isn't accepted.
var outcomes = map[string]error{
	"InvalidAdd": api.ErrInvalidAdd, "SegmentNotFound": api.ErrSegmentNotFound,
	"InvalidSegmentTransition":         api.ErrInvalidSegmentTransition,
	"InvalidPartitionDeleteTransition": api.ErrInvalidPartitionDeleteTransition,
	"InvalidArgument":                  api.ErrInvalidArgument,
}

// Outcome is [Applied] for nil and the name of an error by which a manager refuses an
// event. Any other error is returned.
func Outcome(err error) (string, error) {
	if err == nil {
		return Applied, nil
	}
	for name, is := range outcomes {
		if errors.Is(err, is) {
			return name, nil
		}
	}
	return "", err
}

// Publish puts an event to the manager.
func Publish(ctx context.Context, m api.RemoteLogMetadataManager, event api.RemoteLogMetadata) (api.Position, error) {
	switch e := event.(type) {
	case api.RemoteLogSegmentMetadata:
		return m.AddRemoteLogSegmentMetadata(ctx, e)
	case api.RemoteLogSegmentMetadataUpdate:
		return m.UpdateRemoteLogSegmentMetadata(ctx, e)
	case api.RemotePartitionDeleteMetadata:
		return m.PutRemotePartitionDeleteMetadata(ctx, e)
	}
	return api.NotPublished, fmt.Errorf("unexpected event %T", event)
}

// Mode says which of the two values HighestOffsetForEpoch gives.
type Mode bool

// The modes.
const (
	Contract Mode = false // the greatest end offset of finished segments
	Bounded  Mode = true  // Kafka's, highest.offset.bounds=epoch
)

// Answerable tells whether a manager of the mode can answer the step. What the table
// keeps (row, orphans) no manager says, and each mode answers one of highest and
// bounded.
func (s Step) Answerable(mode Mode) bool {
	switch s.Verb {
	case "row", "orphans":
		return false
	case "highest":
		return mode == Contract
	case "bounded":
		return mode == Bounded
	}
	return true
}

// Do puts the step to the manager and returns its answer, to be compared with Want. An
// error means that there was no answer.
func (s Step) Do(ctx context.Context, m api.RemoteLogMetadataManager) (string, error) {
	if s.event != nil {
		_, err := Publish(ctx, m, s.event)
		return Outcome(err)
	}
	switch s.Verb {
	case "get":
		return name(m.RemoteLogSegmentMetadata(ctx, s.Partition, s.epoch, s.offset))
	case "next":
		return name(m.NextSegmentWithTxnIndex(ctx, s.Partition, s.epoch, s.offset))
	case "list":
		return names(m.ListRemoteLogSegmentsByEpoch(ctx, s.Partition, s.epoch))
	case "highest", "bounded":
		return number(m.HighestOffsetForEpoch(ctx, s.Partition, s.epoch))
	case "size":
		size, err := m.RemoteLogSize(ctx, s.Partition, s.epoch)
		return fmt.Sprint(size), err
	}
	all, err := m.ListRemoteLogSegments(ctx, s.Partition)
	if err != nil {
		return "", err
	}
	return s.ofList(all)
}

// ofList answers what the list of all segments tells.
func (s Step) ofList(all []api.RemoteLogSegmentMetadata) (string, error) {
	switch s.Verb {
	case "listAll":
		return Names(all), nil
	case "show":
		return s.show(all), nil
	case "total":
		return s.total(all), nil
	}
	return "", fmt.Errorf("a manager can't tell: %s", s.Text)
}

func (s Step) total(all []api.RemoteLogSegmentMetadata) string {
	segments, bytes := 0, int64(0)
	for _, m := range all {
		if m.State == s.state {
			segments++
			bytes += int64(m.SegmentSizeInBytes)
		}
	}
	return fmt.Sprintf("%d/%d", segments, bytes)
}

func (s Step) show(all []api.RemoteLogSegmentMetadata) string {
	for _, m := range all {
		if m.ID.ID != s.Segment {
			continue
		}
		text := fmt.Sprintf("%s broker=%d time=%d", m.State, m.BrokerID, m.EventTimestampMs)
		if m.CustomMetadata.Present() {
			text += fmt.Sprintf(" custom=%x", m.CustomMetadata.Bytes())
		}
		return text
	}
	return "none"
}

// Names are the segments' names, "none" without any.
func Names(segments []api.RemoteLogSegmentMetadata) string {
	if len(segments) == 0 {
		return "none"
	}
	all := make([]string, len(segments))
	for i, m := range segments {
		all[i] = nameOf(m.ID.ID)
	}
	return strings.Join(all, " ")
}

func names(segments []api.RemoteLogSegmentMetadata, err error) (string, error) {
	return Names(segments), err
}

func name(m api.RemoteLogSegmentMetadata, found bool, err error) (string, error) {
	if !found {
		return "none", err
	}
	return nameOf(m.ID.ID), err
}

func number(n int64, found bool, err error) (string, error) {
	if !found {
		return "none", err
	}
	return fmt.Sprint(n), err
}
