package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/recording"
)

// maxInputLine bounds a line of hex or of a recording.
const maxInputLine = 130 << 20

func newDecode() *cobra.Command {
	var partitions int32
	cmd := &cobra.Command{
		Use:   "decode",
		Short: "Decode records of the metadata topic",
		Long: lines("Read hex values, one a line, or a recording from standard input and write a JSON line for",
			"each: the shape of the HTTP API with kind, metadataPartition and offset. A record that",
			"can't be decoded is a line with its error and its bytes in hex, as value; so is a segment",
			"snapshot, which is never valid on the topic. A line that can't be read is one with its",
			"error. Blank lines are passed over.",
			"",
			"A bare value doesn't say where it lay: its metadataPartition is the one that Kafka's",
			"partitioner chooses among --partitions, its offset -1."),
		Example: lines("  rlmm decode <recording.jsonl",
			"  echo 010200076f72646572731111... | rlmm decode"),
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if partitions < 1 {
				return &usageError{fmt.Errorf("--partitions: must be positive: %d", partitions)}
			}
			return decode(cmd.InOrStdin(), cmd.OutOrStdout(), partitions)
		},
	}
	cmd.Flags().Int32Var(&partitions, "partitions", 50, "partition count of the metadata topic, for bare values")
	return cmd
}

func decode(in io.Reader, out io.Writer, partitions int32) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, maxInputLine)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	for scanner.Scan() {
		line := bytes.TrimSpace(scanner.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := enc.Encode(decodeLine(line, partitions)); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	return w.Flush()
}

func decodeLine(line []byte, partitions int32) rest.Event {
	if line[0] == '{' {
		e, err := recording.Parse(line)
		if err != nil {
			return rest.Event{MetadataPartition: -1, Offset: -1, Err: err}
		}
		return decodeValue(e.Partition, e.Offset, e.Value)
	}
	value, err := hex.DecodeString(string(line))
	if err != nil {
		return rest.Event{MetadataPartition: -1, Offset: -1, Err: err}
	}
	e := decodeValue(-1, -1, value)
	if e.Metadata != nil {
		e.MetadataPartition = codec.MetadataPartition(e.Metadata.Partition(), partitions)
	}
	return e
}

func decodeValue(partition int32, offset int64, value []byte) rest.Event {
	m, err := codec.DecodeRecord(value)
	e := rest.Event{MetadataPartition: partition, Offset: offset, Err: err, Value: value}
	if err == nil {
		e.Metadata = m
	} else if snapshot, err := codec.DecodeSnapshot(value); err == nil {
		e.Snapshot = (*api.RemoteLogSegmentMetadata)(&snapshot)
	}
	return e
}
