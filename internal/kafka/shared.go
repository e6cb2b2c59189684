package kafka

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// sharedWait is how long those who come while a request is under way wait for its end
// before the next one is sent all the same: a broker that says nothing must not hold up
// what others may answer.
const sharedWait = 100 * time.Millisecond

// shared lets callers that come together share a request. Each gets the answer to one
// that was sent after it had come, so that it learns no less than by a request of its
// own. While one is under way the next one gathers who comes.
type shared[K comparable, A any] struct {
	ask func(keys []K) A // sends one request about all the keys

	mu   sync.Mutex
	next *round[K, A] // not sent yet
	last *round[K, A] // sent last
}

type round[K comparable, A any] struct {
	keys   map[K]struct{}
	answer A
	done   chan struct{} // closed when the answer is there
}

// get returns the answer to a request about the keys and whatever others ask for. When
// the context ends first, the error is its cause.
func (s *shared[K, A]) get(ctx context.Context, keys ...K) (A, error) {
	r := s.join(keys)
	select {
	case <-r.done:
		return r.answer, nil
	case <-ctx.Done():
		var none A
		return none, context.Cause(ctx)
	}
}

func (s *shared[K, A]) join(keys []K) *round[K, A] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &round[K, A]{keys: map[K]struct{}{}, done: make(chan struct{})}
		go s.send(s.next, s.last)
	}
	for _, k := range keys {
		s.next.keys[k] = struct{}{}
	}
	return s.next
}

// send sends the round once the one before it has ended, or taken long.
func (s *shared[K, A]) send(r, before *round[K, A]) {
	if before != nil {
		select {
		case <-before.done:
		case <-time.After(sharedWait):
		}
	}
	s.mu.Lock()
	s.next, s.last = nil, r // nobody joins any more
	s.mu.Unlock()
	r.answer = s.ask(slices.Collect(maps.Keys(r.keys)))
	close(r.done)
}
