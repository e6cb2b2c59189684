package kafkatest

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// peerTimeout bounds one run of the Java peer.
const peerTimeout = 3 * time.Minute

// Operation is a mutation for [PeerApply].
type Operation struct {
	Op string `json:"op"` // add, update or delete
	Metadata
}

// Operation returns the mutation that publishes the event. Kafka refuses that of a kind
// that no mutation has.
func (m Metadata) Operation() Operation {
	ops := map[string]string{KindSegment: "add", KindSegmentUpdate: "update", KindPartitionDelete: "delete"}
	return Operation{Op: ops[m.Kind], Metadata: m}
}

// Outcome is what became of an [Operation].
type Outcome struct {
	OK bool `json:"ok"`
	// Error is the Java class of the exception and its message; empty when OK.
	Error string `json:"error"`
}

// Decoded is a value as Kafka's RemoteLogMetadataSerde reads it.
type Decoded struct {
	Metadata
	// Error is the Java class of the exception and its message; empty when the value
	// was decoded.
	Error string `json:"error"`
}

// PeerState has Kafka's own manager replay the topic __remote_log_metadata and returns
// its answers for every partition that occurs there, sorted by topic, topic id and
// partition. It fails the test when there is no such topic or the manager doesn't
// become ready, as it never does after a record that it can't decode.
func PeerState(tb testing.TB, bootstrap []string) []State {
	tb.Helper()
	return runPeer[State](tb, nil, "state", strings.Join(bootstrap, ","))
}

// PeerApply carries the operations out through Kafka's own manager and returns the
// outcome of each. The order is kept within each metadata partition. The topic
// __remote_log_metadata is created, with 50 partitions, when there is none.
func PeerApply(tb testing.TB, bootstrap []string, operations []Operation) []Outcome {
	tb.Helper()
	var in bytes.Buffer
	for encoder, i := json.NewEncoder(&in), 0; i < len(operations); i++ {
		if err := encoder.Encode(operations[i]); err != nil {
			tb.Fatalf("encode operation %d: %v", i, err)
		}
	}
	outcomes := runPeer[Outcome](tb, &in, "apply", strings.Join(bootstrap, ","))
	requireLines(tb, len(outcomes), len(operations))
	return outcomes
}

// PeerDecode decodes each value with Kafka's own serde. It needs no broker.
func PeerDecode(tb testing.TB, values [][]byte) []Decoded {
	tb.Helper()
	var in bytes.Buffer
	for _, value := range values {
		fmt.Fprintln(&in, hex.EncodeToString(value))
	}
	decoded := runPeer[Decoded](tb, &in, "serde")
	requireLines(tb, len(decoded), len(values))
	return decoded
}

func requireLines(tb testing.TB, got, want int) {
	tb.Helper()
	if got != want {
		tb.Fatalf("the peer answered %d lines to %d", got, want)
	}
}

// runPeer runs a verb of the Java peer and decodes the lines that it prints.
func runPeer[T any](tb testing.TB, in *bytes.Buffer, args ...string) []T {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), peerTimeout)
	defer cancel()
	cmd, err := peerCommand(ctx, quickJVM("512m"), args)
	if err != nil {
		tb.Fatalf("prepare the peer: %v", err)
	}
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if in != nil {
		cmd.Stdin = in
	}
	if err := runToEnd(cmd); err != nil {
		tb.Fatalf("peer %s: %v\n%s", strings.Join(args, " "), err, talk.Bytes())
	}
	lines, err := decodeLines[T](&out)
	if err != nil {
		tb.Fatalf("answer of peer %s: %v", args[0], err)
	}
	return lines
}

func peerCommand(ctx context.Context, jvm, args []string) (*exec.Cmd, error) {
	java, err := javaBinary()
	if err != nil {
		return nil, err
	}
	classPath, err := peerClassPath()
	if err != nil {
		return nil, err
	}
	args = slices.Concat(jvm, []string{"-cp", classPath, "io.tieredlog.rlmm.peer.Peer"}, args)
	return exec.CommandContext(ctx, java, args...), nil
}
