//go:build integration

package faults_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/backoff"
	"github.com/tieredlog/rlmm/views"
)

// The parts that have a wire of their own to the broker: two processors and a manager,
// which reads the table, asks for end offsets and publishes.
var parts = []string{"FIRST", "SECOND", "MANAGER"}

// network is a fleet whose every part reaches the broker by a wire of its own. The load
// and what checks have a direct connection.
type network struct {
	*world
	wires   wires
	members []*member
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	broker, wires := startWired(t, parts)
	n := &network{world: newWorld(t, broker.Bootstrap()), wires: wires}
	for _, part := range parts[:2] {
		m := n.newMember()
		m.connect(wires[part])
		m.start()
		n.members = append(n.members, m)
	}
	n.observe(n.throughWire)
	return n
}

// wires are parts' ways to the broker, by the parts' names.
type wires map[string]*faults.Wire

// startWired starts a broker that each of the parts reaches by a wire of its own.
func startWired(t *testing.T, parts []string, more ...kafkatest.Option) (*kafkatest.Broker, wires) {
	t.Helper()
	for _, part := range parts {
		more = append(more, kafkatest.WithListener(part))
	}
	broker, all := kafkatest.Start(t, more...), wires{}
	for _, part := range parts {
		l := broker.Listener(part)
		wire, err := faults.NewWire(l.Advertised, l.Address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(wire.Close)
		all[part] = wire
	}
	return broker, all
}

// connect has a command that isn't started yet reach the broker by the wire.
func (m *member) connect(wire *faults.Wire) {
	m.args[slices.Index(m.args, "--bootstrap")+1] = wire.Address()
}

func (n *network) throughWire(c *views.Config) {
	c.Kafka.Bootstrap = []string{n.wires["MANAGER"].Address()}
}

// damage does one kind of damage to the wires of parts.
func (w wires) damage(t *testing.T, d faults.Damage, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err := w[part].Damage(d); err != nil {
			t.Fatalf("%s: %v", part, err)
		}
	}
}

func (w wires) heal(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err := w[part].Heal(); err != nil {
			t.Fatalf("%s: heal: %v", part, err)
		}
	}
}

// damageSome does some damage to one or more wires for a while, and tells which.
func (w *world) damageSome(wires wires) (d faults.Damage, some []string) {
	w.t.Helper()
	parts := slices.Sorted(maps.Keys(wires))
	some, d = w.someParts(parts), faults.Damages[w.random.IntN(len(faults.Damages))]
	wires.damage(w.t, d, some...)
	w.pause(w.t.Context(), 500*time.Millisecond, 6*time.Second)
	wires.heal(w.t, some...)
	return d, some
}

// someParts are one or more parts.
func (w *world) someParts(parts []string) []string {
	some := []string{parts[w.random.IntN(len(parts))]}
	for _, part := range parts {
		if part != some[0] && w.random.IntN(3) == 0 {
			some = append(some, part)
		}
	}
	return some
}

func TestDamagedConnectionsLoseNothing(t *testing.T) {
	n := newNetwork(t)
	ctx, stop := context.WithTimeout(t.Context(), seconds(t))
	defer stop()
	published := n.load(ctx, rate/3)
	damages := map[faults.Damage]int{}
	for ctx.Err() == nil {
		n.pause(ctx, 200*time.Millisecond, 1500*time.Millisecond)
		d, _ := n.damageSome(n.wires)
		damages[d]++
	}
	t.Logf("published %d events, damages %v", <-published, damages)
	n.awaitAnswers()
	n.wantCalm(n.members, joins+4*len(damages)*int(seconds(t)/(10*time.Second)+1))
	n.finish(n.members)
}

// Half-open connections are given up by those who wait for answers on them. How long
// that takes is told.
func TestHalfOpenConnectionsAreGivenUp(t *testing.T) {
	n := newNetwork(t)
	cfg := views.Config{Kafka: n.settings(), MetadataTopic: n.topic, Group: n.group, DataDir: t.TempDir()}
	n.throughWire(&cfg)
	m := n.startManager(cfg)
	defer m.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := n.load(ctx, rate/5)
	for _, some := range [][]string{parts[:2], parts[2:], parts} {
		n.awaitEverything(m)
		n.wires.damage(t, faults.HalfOpen, some...)
		n.pause(ctx, 4*time.Second, 5*time.Second)
		n.wires.heal(t, some...)
		fleet, manager := n.awaitEverything(m)
		t.Logf("%v were half-open; when the wires are whole answers go on after %v, mutations after %v", some, fleet, manager)
	}
	stop()
	t.Logf("published %d events", <-published)
	n.awaitAnswers()
	n.finish(n.members)
}

// awaitEverything waits until what is published from now on is answered in each
// partition, and until the manager publishes something there and sees what became of it.
// It returns how long each took.
func (n *network) awaitEverything(m *views.Manager) (fleet, manager time.Duration) {
	n.t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	var managing sync.WaitGroup
	for p := range int32(partitions) {
		managing.Go(func() { addSomething(ctx, m, p) })
	}
	managed := make(chan time.Duration)
	go func() {
		managing.Wait()
		managed <- time.Since(began)
	}()
	for p := range int32(partitions) {
		n.awaitAnswersBehind(p)
	}
	fleet, manager = time.Since(began), <-managed
	if ctx.Err() != nil {
		n.t.Fatal("the manager mutates nothing")
	}
	return fleet.Round(100 * time.Millisecond), manager.Round(100 * time.Millisecond)
}

// addSomething tries until a new segment is in or the context ends.
func addSomething(ctx context.Context, m *views.Manager, p int32) {
	for pause := backoff.New(50*time.Millisecond, time.Second); ctx.Err() == nil; pause.Wait(ctx) {
		if _, err := m.AddRemoteLogSegmentMetadata(ctx, segmentOn(p)); err == nil {
			return
		}
	}
}

// segmentOn is a new segment whose events lie on the metadata partition.
func segmentOn(p int32) api.RemoteLogSegmentMetadata {
	tip := api.TopicIdPartition{TopicID: api.UUIDFromBits(9, 1), Topic: "on"}
	for codec.MetadataPartition(tip, partitions) != p {
		tip.Partition++
	}
	return api.RemoteLogSegmentMetadata{
		ID:          api.RemoteLogSegmentID{TopicIdPartition: tip, ID: api.RandomUUID()},
		StartOffset: 0, EndOffset: 9, SegmentSizeInBytes: 1, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{}),
	}
}
