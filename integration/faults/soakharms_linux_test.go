//go:build integration

package faults_test

import (
	"fmt"
	"syscall"
	"time"

	"github.com/tieredlog/rlmm/integration/faults"
)

// harm is something that a soak does, and how often among the others.
type harm struct {
	name   string
	weight int
	do     func(*soak)
}

var harms = []harm{
	{"kill a processor", 4, (*soak).killProcessor},
	{"take every processor away", 2, (*soak).takeFleet},
	{"kill the server", 2, (*soak).killServer},
	{"kill the broker", 2, func(s *soak) { s.crash(s.broker) }},
	{"pause a processor", 3, func(s *soak) { s.anyProcessor().standStill(beyondSession, beyondSession+2*time.Second) }},
	{"pause a server", 2, func(s *soak) { s.anyServer().standStill(3*time.Second, 9*time.Second) }},
	{"another fleet size", 3, func(s *soak) { s.wanted = s.random.IntN(len(s.others) + 1) }},
	{"damage the network", 5, func(s *soak) { s.damageSome(s.wires) }},
	{"fill a disk", 2, (*soak).fillDisk},
	{"compact the table", 2, (*soak).compact},
	{"compact it while a part is paused", 2, (*soak).compactBehindPaused},
	{"change the assignment", 2, (*soak).changeAssignment},
	{"cut the input's head", 1, func(s *soak) { s.cutApplied(s.tap.answered) }},
}

// deck deals the harms at random, each as often as its weight says before any comes again.
func (s *soak) deck() func() harm {
	var left []harm
	return func() harm {
		if len(left) == 0 {
			for _, h := range harms {
				for range h.weight {
					left = append(left, h)
				}
			}
			s.random.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		}
		h := left[0]
		left = left[1:]
		return h
	}
}

// killProcessor kills one that may be killed; when none runs there is one before.
func (s *soak) killProcessor() {
	if s.wanted == 0 {
		s.wanted = 1
		s.heal()
	}
	s.others[s.random.IntN(s.wanted)].kill()
}

// takeFleet kills all processors but the one that is weighed, which stands still.
func (s *soak) takeFleet() {
	for _, m := range s.others {
		m.kill()
	}
	s.kept.standStill(beyondSession, beyondSession+2*time.Second)
}

func (s *soak) killServer() {
	s.server.kill()
	s.server.restart()
}

func (s *soak) anyProcessor() *member {
	running := append([]*member{s.kept.member}, s.others[:s.wanted]...)
	return running[s.random.IntN(len(running))]
}

func (s *soak) anyServer() *member {
	return []*member{s.server.member, s.view.member}[s.random.IntN(2)]
}

// fillDisk fills the disk of a processor that works on it, until that says so.
func (s *soak) fillDisk() {
	s.wanted = max(1, s.wanted)
	s.heal()
	told := s.disk.complaints(diskFull)
	free := s.disk.disk.fill()
	s.await("the processor tells of the full disk", func() bool { return s.disk.complaints(diskFull) > told })
	s.pause(s.t.Context(), 500*time.Millisecond, 3*time.Second)
	free()
}

// compact has the table compacted, up to where it ends now.
func (s *soak) compact() {
	s.t.Helper()
	for setting, value := range compacting {
		s.alterTable(setting, value)
	}
	ends := make([]int64, partitions)
	for p := range ends {
		ends[p] = s.end(s.table(), int32(p))
	}
	for p, end := range ends {
		s.await(fmt.Sprintf("table %d is compacted up to %d", p, end), func() bool {
			return faults.IsCompacted(s.read(s.table(), int32(p)), end)
		})
	}
	for setting, value := range notCompacting {
		s.alterTable(setting, value)
	}
}

func (s *soak) compactBehindPaused() {
	paused := s.anyServer()
	if s.random.IntN(2) == 0 {
		paused = s.anyProcessor()
	}
	paused.signal(syscall.SIGSTOP)
	s.compact()
	paused.signal(syscall.SIGCONT)
}

// changeAssignment assigns other partitions some times, and all of them in the end.
func (s *soak) changeAssignment() {
	for range 1 + s.random.IntN(5) {
		s.manager.assign(s.somePartitions())
	}
	s.manager.assign(everyPartition())
}
