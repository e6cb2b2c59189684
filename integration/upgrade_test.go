//go:build integration

package integration_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

// release is a build of the command.
type release func(testing.TB) string

// refusal is what a release says of rows that it can't read.
const refusal = "row version 2 is newer than this reader knows (1)"

// upgraded is a fleet and its servers while they are upgraded, and what they must answer.
type upgraded struct {
	*testing.T
	fleet
	tips []api.TopicIdPartition
	want map[api.TopicIdPartition][]api.RemoteLogSegmentMetadata
}

func newUpgraded(t *testing.T) *upgraded {
	t.Helper()
	u := &upgraded{T: t, fleet: newFleet(kafkatest.Bootstrap(t)), want: map[api.TopicIdPartition][]api.RemoteLogSegmentMetadata{}}
	kafkatest.CreateMetadataTopic(t, u.bootstrap, u.topic, 4)
	for p := range int32(16) {
		u.tips = append(u.tips, api.TopicIdPartition{TopicID: api.RandomUUID(), Topic: "orders", Partition: p})
	}
	return u
}

func (u *upgraded) cluster() []string {
	return []string{"--bootstrap", strings.Join(u.bootstrap, ","), "--topic", u.topic, "--group", u.group}
}

// process starts a verb of a release that serves HTTP, and returns a client of it.
func (u *upgraded) process(of release, verb, data string, more ...string) (*running, *rest.Client) {
	u.Helper()
	address := kafkatest.FreeAddress(u)
	args := slices.Concat([]string{verb}, u.cluster(), []string{"--data", data, "--http", address}, more)
	client, err := rest.NewClient("http://"+address, nil)
	if err != nil {
		u.Fatal(err)
	}
	return start(u.T, of(u), args...), client
}

// processor starts a member of the fleet and waits until it is one.
func (u *upgraded) processor(of release, data string, more ...string) *running {
	u.Helper()
	more = append([]string{"--create-topics", "--replication-factor", "1"}, more...)
	p, client := u.process(of, "processor", data, more...)
	await(u.T, "the processor is a member", func() bool { return client.Ready(u.Context()) == nil })
	return p
}

func (u *upgraded) server(of release, data string) *rest.Client {
	u.Helper()
	_, client := u.process(of, "serve", data, "--allow-mutations")
	await(u.T, "the server is ready", func() bool { return client.Ready(u.Context()) == nil })
	return client
}

// grow adds a segment to each partition.
func (u *upgraded) grow(through *rest.Client) {
	u.Helper()
	for _, tip := range u.tips {
		s := newSegment(tip)
		s.StartOffset = 100 * int64(len(u.want[tip]))
		s.EndOffset = s.StartOffset + 99
		s.LeaderEpochs = api.NewLeaderEpochs(api.EpochOffset{LeaderEpoch: 0, Offset: s.StartOffset})
		finish := api.RemoteLogSegmentMetadataUpdate{ID: s.ID, State: api.CopySegmentFinished, EventTimestampMs: 2}
		for _, event := range []api.RemoteLogMetadata{s, finish} {
			if err := mutate(u.T, through, event); err != nil {
				u.Fatal(err)
			}
		}
		s.State, s.EventTimestampMs = finish.State, finish.EventTimestampMs
		u.want[tip] = append(u.want[tip], s)
	}
}

// awaitRight waits until each server answers for each partition what was added.
func (u *upgraded) awaitRight(servers ...*rest.Client) {
	u.Helper()
	for _, server := range servers {
		for _, tip := range u.tips {
			await(u.T, "the server answers all that was added", func() bool {
				got, err := server.ListRemoteLogSegments(u.Context(), tip)
				return err == nil && slices.EqualFunc(got, u.want[tip], api.RemoteLogSegmentMetadata.Equal)
			})
		}
	}
}

// awaitRefused waits until a server is not ready for any partition, and says why.
func (u *upgraded) awaitRefused(server *rest.Client) {
	u.Helper()
	for _, tip := range u.tips {
		await(u.T, "the server refuses", func() bool {
			_, err := server.ListRemoteLogSegments(u.Context(), tip)
			return errors.Is(err, api.ErrNotReady) && strings.Contains(err.Error(), refusal)
		})
	}
	if err := server.Ready(u.Context()); err == nil || !strings.Contains(err.Error(), refusal) {
		u.Errorf("ready: %v", err)
	}
}

// wantRefused waits until a processor has ended by itself, and has said why.
func (u *upgraded) wantRefused(p *running) {
	u.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		u.Fatal("an old processor runs on rows that it can't read")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(p.out.String(), refusal) {
		u.Errorf("exit code %d:\n%s", code, p.out.String())
	}
}

// rowVersions counts the rows that the table holds by their version.
func (u *upgraded) rowVersions() map[codec.RowVersion]int {
	u.Helper()
	rows := map[string][]byte{}
	for _, r := range kafkatest.ReadTopic(u, u.bootstrap, table.TopicOf(u.group)) {
		if key := string(r.Key); r.Value != nil && !codec.IsHidden(key) {
			rows[key] = r.Value
		}
	}
	versions := map[codec.RowVersion]int{}
	for _, row := range rows {
		versions[codec.RowVersionOf(row)]++
	}
	u.Logf("rows by version: %v", versions)
	return versions
}

// rows is how many rows the table must have.
func (u *upgraded) rows() (n int) {
	for _, segments := range u.want {
		n += len(segments)
	}
	return n
}

// wantAside fails the test unless stores of the processor in the folder were moved aside.
func (u *upgraded) wantAside(folder string, why store.Reset) {
	u.Helper()
	if aside, _ := filepath.Glob(filepath.Join(folder, "processor", "*.aside-"+string(why)+"-*")); len(aside) == 0 {
		u.Errorf("no store was moved aside for %s", why)
	}
}

func (u *upgraded) wantRowVersions(one, two int) {
	u.Helper()
	if got := u.rowVersions(); got[1] != one || got[2] != two || len(got) > 2 {
		u.Errorf("rows by version: %v, want %d of 1 and %d of 2", got, one, two)
	}
}

// Two releases of which one knows a row version more, side by side in all ways that an
// upgrade and the way back can take. The table's rows are never answered from by who can't
// read them.
func TestUpgradeAcrossRowVersions(t *testing.T) {
	u := newUpgraded(t)
	folder, oldFolder := t.TempDir(), t.TempDir()
	older, newer := release(command.Path), release(command.Next)

	t.Log("both releases, side by side: what both read is written")
	old := u.processor(older, t.TempDir())
	member := u.processor(newer, folder)
	oldServer, server := u.server(older, oldFolder), u.server(newer, t.TempDir())
	u.grow(oldServer)
	u.grow(server)
	u.awaitRight(oldServer, server)
	u.wantRowVersions(u.rows(), 0)

	t.Log("back to the old release before the new version is written: nothing but to start it")
	member.stop()
	member = u.processor(older, folder)
	u.grow(oldServer)
	u.awaitRight(oldServer, server)
	member.stop()

	t.Log("told the new version before the old release is gone")
	member = u.processor(newer, folder, "--row-version", "2")
	u.grow(server)
	u.awaitRight(server)
	if got := u.rowVersions(); got[1] <= u.rows()-len(u.tips) || got[2] == 0 {
		t.Errorf("both members write: %v", got)
	}
	member.stop()
	u.wantRefused(old)

	t.Log("the new release alone, told the new version")
	member = u.processor(newer, folder, "--row-version", "2")
	u.grow(server)
	u.awaitRight(server, u.server(newer, t.TempDir()))
	u.awaitRefused(oldServer)

	t.Log("told the old version again: the new release reads both, the old one refuses")
	member.stop()
	member = u.processor(newer, folder)
	before := u.rowVersions()
	u.grow(server)
	u.awaitRight(server)
	u.wantRowVersions(before[1]+len(u.tips), before[2])
	again, _ := u.process(older, "processor", t.TempDir())
	u.wantRefused(again)
	u.awaitRefused(oldServer)
	u.grow(server)
	u.awaitRight(server)

	t.Log("back to the old release: reset")
	member.stop()
	if _, code := u.verb(t, "reset", "--execute"); code != 0 {
		t.Fatalf("reset: exit code %d", code)
	}
	u.processor(older, folder)
	u.awaitRight(oldServer, server)
	u.grow(oldServer)
	u.awaitRight(oldServer, server)
	u.wantRowVersions(u.rows(), 0)
	u.wantAside(folder, store.ResetFormat)
}
