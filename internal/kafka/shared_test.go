package kafka

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slow is requests of which each waits until it may be answered.
type slow struct {
	mu       sync.Mutex
	requests [][]int
	answer   chan int
}

func (s *slow) ask(keys []int) int {
	s.mu.Lock()
	slices.Sort(keys)
	s.requests = append(s.requests, keys)
	s.mu.Unlock()
	return <-s.answer
}

func (s *slow) sent() [][]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Who comes while a request is under way is served by the next one, never by that one:
// what it tells may be older than the question.
func TestSharedAnswersAreNeverOlderThanTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{answer: make(chan int)}
		shared := &shared[int, int]{ask: s.ask}
		var asking sync.WaitGroup
		got := make([]int, 4)
		ask := func(i int) {
			asking.Go(func() {
				var err error
				got[i], err = shared.get(t.Context(), i)
				if err != nil {
					t.Error(err)
				}
			})
		}
		ask(0)
		synctest.Wait()
		for i := range 3 {
			ask(i + 1)
		}
		synctest.Wait()
		s.answer <- 100
		s.answer <- 101
		asking.Wait()
		wantSame(t, "requests", [][]int{{0}, {1, 2, 3}}, s.sent())
		wantSame(t, "answers", []int{100, 101, 101, 101}, got)
	})
}

// A broker that says nothing doesn't hold up those who come later for long.
func TestSharedDoesNotWaitForARequestThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{answer: make(chan int)}
		shared := &shared[int, int]{ask: s.ask}
		hanging, giveUp := context.WithCancelCause(t.Context())
		gone := make(chan error)
		go func() {
			_, err := shared.get(hanging, 0)
			gone <- err
		}()
		synctest.Wait()
		var asking sync.WaitGroup
		asking.Go(func() { _, _ = shared.get(t.Context(), 1) })
		synctest.Wait()
		wantSame(t, "requests at first", [][]int{{0}}, s.sent())
		reason := errors.New("enough")
		giveUp(reason)
		if err := <-gone; !errors.Is(err, reason) {
			t.Errorf("got %v, want the context's cause", err)
		}
		<-time.After(sharedWait)
		synctest.Wait()
		wantSame(t, "requests in the end", [][]int{{0}, {1}}, s.sent())
		s.answer <- 1
		s.answer <- 1
		asking.Wait()
	})
}
