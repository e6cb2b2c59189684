//go:build integration

package faults_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// soak is a fleet of one to three processors, two servers and a manager in this process,
// each with a wire of its own, on a table that is purged all the time and forgets its
// tombstones. One processor and one server are never killed: what they need is weighed.
type soak struct {
	*world
	broker  *kafkatest.Broker
	wires   wires
	tap     *tap
	kept    *kept
	disk    *served
	others  []*member // those that may be killed; the first one's stores lie on disk
	wanted  int       // how many of the others run when all is well
	server  *server
	view    *server
	weighed *kept // the view
	manager *observer
	began   time.Time
	loaded  time.Time // since when the load publishes without a break
	report  faults.Soak
}

// TestSoak does everything at random. For ten minutes of it there is make soak.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	s.report.Published = s.underLoadOf(rate/3, func(ctx context.Context) {
		deck := s.deck()
		s.loaded = time.Now()
		for weighed := time.Now(); ctx.Err() == nil; {
			s.harm(deck())
			if time.Since(weighed) > seconds(t)/30 {
				s.weigh()
				weighed = time.Now()
			}
		}
	})
	s.conclude()
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	t.Setenv("RLMM_PURGE_AFTER_MS", "1")
	t.Setenv("RLMM_MAINTAIN_INTERVAL_MS", "500")
	broker, wires := startWired(t, []string{"KEPT", "FIRST", "SECOND", "VIEW", "SERVER", "MANAGER"},
		kafkatest.WithProperty("log.cleaner.backoff.ms", "200"))
	s := &soak{world: newWorld(t, broker.Bootstrap()), broker: broker, wires: wires, wanted: 1}
	s.mutateEvery, s.lives = 200*time.Millisecond, 3 // the state has its full size soon
	s.createForgetfulTable(notCompacting)
	s.tap = s.world.tap()
	s.startFleet()
	s.startViews()
	s.heal()
	s.began = time.Now()
	s.report = faults.Soak{
		Seed: s.seed, Harms: map[string]int{}, Observers: map[string]faults.Counts{}, Answered: map[string]int{},
		Outcomes: map[string]int{}, Memory: map[string][]faults.Weight{}, Growth: map[string]float64{},
	}
	return s
}

func (s *soak) startFleet() {
	s.t.Helper()
	s.kept = s.newKept("processor", keptProcessorVerb, s.wires["KEPT"].Address())
	s.dirs = append(s.dirs, s.kept.dir)
	s.kept.start()
	s.disk = s.newServed()
	s.others = []*member{s.disk.member, s.newMember()}
	for i, part := range []string{"FIRST", "SECOND"} {
		s.others[i].connect(s.wires[part])
	}
	s.others[0].start()
}

func (s *soak) startViews() {
	s.t.Helper()
	s.manager = s.observe(func(c *views.Config) { c.Kafka.Bootstrap = []string{s.wires["MANAGER"].Address()} })
	m, address := s.newServe()
	m.connect(s.wires["SERVER"])
	s.server = s.observeServer(m, address)
	s.server.restart()
	s.weighed = s.newKept("view", keptViewVerb, s.wires["VIEW"].Address())
	s.view = s.observeServer(s.weighed.member, s.weighed.address)
	s.view.restart()
}

// harm does one harm and waits until all is well again.
func (s *soak) harm(h harm) {
	s.t.Helper()
	at := time.Since(s.began).Seconds()
	s.t.Logf("%5.1f s: %s", at, h.name)
	h.do(s)
	done := time.Now()
	s.heal()
	healed := time.Since(done)
	s.t.Logf("%5.1f s: well again %.1f s after it", time.Since(s.began).Seconds(), healed.Seconds())
	s.report.Harms[h.name]++
	s.report.Deeds = append(s.report.Deeds, faults.Deed{AtSeconds: at, Harm: h.name, HealedSeconds: healed.Seconds()})
}

// heal starts and stops processors until there are as many as wanted, and waits until
// all that is published by then is answered and, with the load held, every view is caught
// up. What it is given is done before the load goes on.
func (s *soak) heal(calm ...func()) {
	s.t.Helper()
	for i, m := range s.others {
		switch {
		case i < s.wanted && m.cmd == nil:
			m.start()
		case i >= s.wanted:
			m.stop()
		}
	}
	s.wantAlive()
	for p, end := range s.inputEnds() {
		s.await("everything is answered", func() bool { return s.tap.answered(int32(p)) >= end-1 })
	}
	s.loading.Lock()
	defer s.loading.Unlock()
	s.noteStall()
	defer func() { s.loaded = time.Now() }()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for _, o := range s.observers {
		if err := o.AwaitEach(ctx, 20*time.Millisecond); err != nil {
			s.t.Fatalf("%s isn't caught up again: %v", o.name, err)
		}
	}
	s.wantAlive()
	for _, f := range calm {
		f()
	}
}

// noteStall notes how long nothing was answered since the load went on.
func (s *soak) noteStall() {
	stall := s.tap.longestStall(s.loaded)
	longest := &s.report.StallSeconds
	longest.All, longest.One = max(longest.All, stall.All.Seconds()), max(longest.One, stall.One.Seconds())
}

// wantAlive fails the test when a process has ended by itself.
func (s *soak) wantAlive() {
	s.t.Helper()
	for _, m := range append([]*member{s.kept.member, s.server.member, s.view.member}, s.others[:s.wanted]...) {
		if !m.runs() {
			s.t.Fatalf("%s has ended: %s", m.dir, m.lastLine())
		}
	}
}

// weigh asks those that are never killed what they need, once the processor has every
// partition, so that like is compared with like.
func (s *soak) weigh() {
	s.t.Helper()
	wanted := s.wanted
	s.wanted = 0
	s.heal(func() {
		for _, k := range []*kept{s.kept, s.weighed} {
			w := k.awaitWhole(s.began)
			s.t.Logf("%5.1f s: the %s needs %+v", w.AtSeconds, k.name, w)
			s.report.Memory[k.name] = append(s.report.Memory[k.name], w)
		}
	})
	s.wanted = wanted
	s.heal()
}

// conclude lets everything be answered, ends all, checks, and reports.
func (s *soak) conclude() {
	s.t.Helper()
	s.report.Seconds = time.Since(s.began).Seconds()
	s.weigh()
	s.awaitAnswers()
	processors := append([]*member{s.kept.member}, s.others...)
	s.each(processors, (*member).stop)
	_, n := s.verifyPurged(s.tap)
	s.report.Inputs, s.report.Answers, s.report.Fences, s.report.Purges = n.inputs, n.answers, n.fences, n.purges
	s.report.Stores, s.report.Rebuilt = n.stores, s.rebuilt()
	for _, m := range processors {
		s.report.Sessions += m.sessions()
	}
	for _, o := range s.observers {
		s.report.Observers[o.name] = o.counts
		s.report.FalseAnswers += o.findings
		s.report.Count(o.Recorder)
	}
	s.wantFlat()
	s.t.Logf("report: %s", s.report)
	s.write()
}

// wantFlat fails the test when what a process holds has grown by more than a tenth of its
// memory since a fifth of the time. A soak of less than five minutes is too short to tell.
func (s *soak) wantFlat() {
	s.t.Helper()
	long := seconds(s.t) >= 5*time.Minute
	for name, weights := range s.report.Memory {
		growth, ok := faults.Growth(weights, s.report.Seconds/5)
		if ok {
			s.report.Growth[name] = growth
		}
		if long && (!ok || growth > 0.1) {
			s.t.Errorf("the %s holds more: it has grown by %.0f %%, by %d weights", name, 100*growth, len(weights))
		}
	}
}

// write writes the report to the file that RLMM_SOAK_REPORT names, if any.
func (s *soak) write() {
	s.t.Helper()
	name := os.Getenv("RLMM_SOAK_REPORT")
	if name == "" {
		return
	}
	f, err := os.Create(name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if err := s.report.Write(f); err != nil {
		s.t.Error(err)
	}
}
