//go:build integration

package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// The parts that have a wire of their own to the broker: two processors and a manager,
// which reads the table, asks for end offsets and publishes.
var parts = []string{"FIRST", "SECOND", "MANAGER"}

// network is a fleet whose every part reaches the broker by a wire of its own. The load
// and what checks have a direct connection.
type network struct {
	*world
	wires   map[string]*faults.Wire
	members []*member
	manager *observer
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	var listeners []kafkatest.Option
	for _, part := range parts {
		listeners = append(listeners, kafkatest.WithListener(part))
	}
	broker := kafkatest.Start(t, listeners...)
	n := &network{world: newWorld(t, broker.Bootstrap()), wires: map[string]*faults.Wire{}}
	for _, part := range parts {
		l := broker.Listener(part)
		wire, err := faults.NewWire(l.Advertised, l.Address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(wire.Close)
		n.wires[part] = wire
	}
	for _, part := range parts[:2] {
		m := n.newMember()
		m.bootstrap = []string{n.wires[part].Address()}
		m.start()
		n.members = append(n.members, m)
	}
	n.manager = n.observe(func(c *views.Config) { c.Kafka.Bootstrap = []string{n.wires["MANAGER"].Address()} })
	return n
}

// damage does one kind of damage to the wires of parts.
func (n *network) damage(d faults.Damage, parts ...string) {
	n.t.Helper()
	for _, part := range parts {
		if err := n.wires[part].Damage(d); err != nil {
			n.t.Fatalf("%s: %v", part, err)
		}
	}
}

func (n *network) heal(parts ...string) {
	n.t.Helper()
	for _, part := range parts {
		if err := n.wires[part].Heal(); err != nil {
			n.t.Fatalf("%s: heal: %v", part, err)
		}
	}
}

// someParts are one or more parts.
func (n *network) someParts() []string {
	some := []string{parts[n.random.IntN(len(parts))]}
	for _, part := range parts {
		if part != some[0] && n.random.IntN(3) == 0 {
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
		some, d := n.someParts(), faults.Damages[n.random.IntN(len(faults.Damages))]
		n.damage(d, some...)
		n.pause(ctx, 500*time.Millisecond, 6*time.Second)
		n.heal(some...)
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
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := n.load(ctx, rate/5)
	for name, some := range map[string][]string{"processors": parts[:2], "manager": parts[2:], "all": parts} {
		n.awaitEverything()
		n.damage(faults.HalfOpen, some...)
		n.pause(ctx, 4*time.Second, 5*time.Second)
		n.heal(some...)
		t.Logf("%s: all goes on %v after the wires are whole", name, n.awaitEverything())
	}
	stop()
	t.Logf("published %d events", <-published)
	n.awaitAnswers()
	n.finish(n.members)
}

// awaitEverything waits until each partition answers what is published from now on and
// the manager has seen it, and returns how long that took.
func (n *network) awaitEverything() time.Duration {
	n.t.Helper()
	began := time.Now()
	for p := range int32(partitions) {
		n.awaitAnswersBehind(p)
	}
	n.await("the manager is caught up", func() bool { return n.manager.CaughtUp(n.t.Context()) })
	return time.Since(began).Round(100 * time.Millisecond)
}
