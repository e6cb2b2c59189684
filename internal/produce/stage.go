package produce

import "sync"

// Stage does one step after the other for what has come meanwhile.
type Stage[T any] struct {
	step func([]T)
	fit  func(waiting []T) int

	mu      sync.Mutex
	waiting []T
	running bool
}

// NewStage returns a stage that does the step. fit is how many of what waits, one at least,
// one step takes: it is asked right before the step, one call at a time.
func NewStage[T any](fit func(waiting []T) int, step func([]T)) *Stage[T] {
	return &Stage[T]{fit: fit, step: step}
}

// All is a fit that leaves nothing.
func All[T any](waiting []T) int { return len(waiting) }

// Add has the items wait for a step. It doesn't wait itself.
func (s *Stage[T]) Add(items ...T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, items...)
	if !s.running {
		s.running = true
		go s.run()
	}
}

// run goes on until nothing waits.
func (s *Stage[T]) run() {
	for items := s.take(); len(items) > 0; items = s.take() {
		s.step(items)
	}
}

func (s *Stage[T]) take() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running = len(s.waiting) > 0; !s.running {
		s.waiting = nil
		return nil
	}
	n := s.fit(s.waiting)
	items := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	return items
}
