package rlmmtest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// VerifyNoLeaks is a package's TestMain: it runs the tests and fails when goroutines are
// left behind. Libraries get some seconds to end theirs: goleveldb takes one, and a
// client of sarama's that can't connect as long as it tries.
func VerifyNoLeaks(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := leaks(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func leaks() (err error) {
	// go-metrics' ticker never ends.
	ticker := goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")
	// A breaker of sarama's that opened sleeps for ten seconds, whatever its producer does.
	breaker := goleak.IgnoreAnyFunction("github.com/eapache/go-resiliency/breaker.(*Breaker).timer")
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if err = goleak.Find(ticker, breaker); err == nil {
			return nil
		}
	}
	return err
}
