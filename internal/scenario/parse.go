package scenario

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// updates are the states that the verbs of updates stand for.
var updates = map[string]api.RemoteLogSegmentState{
	"cs": api.CopySegmentStarted, "fin": api.CopySegmentFinished,
	"ds": api.DeleteSegmentStarted, "df": api.DeleteSegmentFinished,
}

var errWords = errors.New("too few or too many words")

// parse reads a line that isn't empty.
func (s *Step) parse(line string) error {
	text, want, answered := strings.Cut(line, "->")
	fields := strings.Fields(text)
	s.Text, s.Want = strings.Join(fields, " "), strings.TrimSpace(want)
	s.Verb = fields[0]
	isEvent, err := s.parseEvent(fields[1:])
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", s.Text, err)
	case isEvent && !answered:
		s.Want = Applied
	case isEvent:
	case !answered:
		return fmt.Errorf("%s: a query needs its answer", s.Text)
	default:
		err = s.parseQuery(fields[1:])
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Text, err)
	}
	return nil
}

func (s *Step) parseEvent(words []string) (isEvent bool, err error) {
	state, isUpdate := updates[s.Verb]
	switch {
	case s.Verb == "add":
		return true, s.parseAdd(words)
	case isUpdate:
		return true, s.parseUpdate(words, state)
	case s.Verb == "pd":
		return true, s.parseDelete(words)
	}
	return false, nil
}

func (s *Step) parseAdd(words []string) error {
	if len(words) < 3 {
		return errWords
	}
	m := api.RemoteLogSegmentMetadata{}
	if err := s.parseName(words[0]); err != nil {
		return err
	}
	m.ID = api.RemoteLogSegmentID{TopicIdPartition: s.Partition, ID: s.Segment}
	if err := scan(words[1], "[%d,%d]", &m.StartOffset, &m.EndOffset); err != nil {
		return err
	}
	err := parseEpochs(words[2], &m.LeaderEpochs)
	for _, word := range words[3:] {
		if err == nil {
			err = parseAddOption(word, &m)
		}
	}
	s.event = m
	return err
}

func parseEpochs(text string, into *api.LeaderEpochs) error {
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	var entries []api.EpochOffset
	for pair := range strings.SplitSeq(inner, ",") {
		if inner == "" {
			break
		}
		var e api.EpochOffset
		if err := scan(pair, "%d:%d", &e.LeaderEpoch, &e.Offset); err != nil {
			return err
		}
		entries = append(entries, e)
	}
	*into = api.NewLeaderEpochs(entries...)
	return nil
}

func parseAddOption(word string, m *api.RemoteLogSegmentMetadata) error {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "notxn":
		m.TxnIndexEmpty = true
		return nil
	case "size":
		return parseInt(value, &m.SegmentSizeInBytes)
	case "state":
		return m.State.UnmarshalText([]byte(value))
	}
	return parseOption(key, value, &m.BrokerID, &m.EventTimestampMs, &m.CustomMetadata)
}

// parseOption reads what adds and updates have in common.
func parseOption(key, value string, broker *int32, time *int64, custom *api.CustomMetadata) error {
	switch key {
	case "broker":
		return parseInt(value, broker)
	case "time":
		return parseInt(value, time)
	case "custom":
		b, err := hex.DecodeString(value)
		*custom = api.NewCustomMetadata(b)
		return err
	}
	return fmt.Errorf("unknown option %q", key)
}

func (s *Step) parseUpdate(words []string, state api.RemoteLogSegmentState) error {
	if len(words) < 1 {
		return errWords
	}
	err := s.parseName(words[0])
	u := api.RemoteLogSegmentMetadataUpdate{State: state}
	u.ID = api.RemoteLogSegmentID{TopicIdPartition: s.Partition, ID: s.Segment}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		if err == nil {
			err = parseOption(key, value, &u.BrokerID, &u.EventTimestampMs, &u.CustomMetadata)
		}
	}
	s.event = u
	return err
}

func (s *Step) parseDelete(words []string) error {
	if len(words) != 1 {
		return errWords
	}
	d := api.RemotePartitionDeleteMetadata{TopicIdPartition: s.Partition}
	err := d.State.UnmarshalText([]byte("DELETE_PARTITION_" + words[0]))
	s.event = d
	return err
}

func (s *Step) parseQuery(words []string) error {
	switch {
	case s.Verb == "list" && len(words) == 0:
		s.Verb = "listAll"
		return nil
	case s.Verb == "orphans" && len(words) == 0:
		return nil
	case len(words) != 1:
		return errWords
	}
	switch s.Verb {
	case "get", "next":
		return scan(words[0], "%d/%d", &s.epoch, &s.offset)
	case "list", "size", "highest", "bounded":
		return parseInt(words[0], &s.epoch)
	case "show", "row":
		return s.parseName(words[0])
	case "total":
		return s.state.UnmarshalText([]byte(words[0]))
	}
	return errors.New("unknown verb")
}

func scan(text, format string, into ...any) error {
	// The end tells a text that goes on after what the format wants.
	if _, err := fmt.Sscanf(text+"\n", format+"\n", into...); err != nil {
		return fmt.Errorf("%q is not %s: %w", text, format, err)
	}
	return nil
}

func parseInt[T int32 | int64](text string, into *T) error {
	bits := 64
	if _, narrow := any(*into).(int32); narrow {
		bits = 32
	}
	n, err := strconv.ParseInt(text, 10, bits)
	*into = T(n)
	return err
}

// parseName gives segments ids in the order of their names.
func (s *Step) parseName(name string) error {
	if name == "" || len(name) > len(s.Segment) {
		return fmt.Errorf("%q is not a name of 1 to %d characters", name, len(s.Segment))
	}
	s.Segment = api.UUID{}
	copy(s.Segment[:], name)
	return nil
}

// nameOf is the way back from an id.
func nameOf(id api.UUID) string { return strings.TrimRight(string(id[:]), "\x00") }
