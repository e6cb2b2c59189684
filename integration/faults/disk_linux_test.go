//go:build integration

package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/kafkatest"
)

// served is a member that says over HTTP whether it is ready, and whose stores lie on a
// disk of their own.
type served struct {
	*member
	disk *mounted
	url  string
}

func (w *world) newServed() *served {
	w.t.Helper()
	m, address := w.newMember(), kafkatest.FreeAddress(w.t)
	m.args = append(m.args, "--http", address)
	return &served{m, mount(w.t, filepath.Join(m.dir, "processor"), "48m"), "http://" + address + "/readyz"}
}

// status is the answer of /readyz, 0 when there is none.
func (s *served) status() int {
	client := http.Client{Timeout: 10 * time.Second}
	resp, err := client.Get(s.url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (s *served) awaitStatus(want int) {
	s.w.t.Helper()
	s.w.await(fmt.Sprintf("readiness is %d", want), func() bool { return s.status() == want })
}

// complaints is how many lines of the log name the data folder and the cause.
func (s *served) complaints(cause string) (n int) {
	s.w.t.Helper()
	return s.disk.complaints(s.log.Name(), cause)
}

func (m *mounted) complaints(log, cause string) (n int) {
	m.t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		m.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, m.dir) && strings.Contains(line, cause) {
			n++
		}
	}
	return n
}

// awaitFailure waits until the member isn't ready and has told the cause.
func (s *served) awaitFailure(cause string) {
	s.w.t.Helper()
	s.w.await("the member tells of "+cause, func() bool { return s.complaints(cause) > 0 })
	s.awaitStatus(http.StatusServiceUnavailable)
}

// wantPatience fails when a member that can't work is busy all the same, or opens more
// and more files.
func (s *served) wantPatience(cause string) {
	s.w.t.Helper()
	began, cpu, files, tries := time.Now(), s.cpu(), s.files(), s.complaints(cause)
	s.w.await("it tries again", func() bool { return s.complaints(cause) >= tries+5 })
	took, used, left := time.Since(began), s.cpu()-cpu, s.files()-files
	s.w.t.Logf("while it can't work: %d tries in %v, %v of CPU, %+d open files", s.complaints(cause)-tries, took, used, left)
	if used > took/2 {
		s.w.t.Errorf("it used %v of CPU in %v", used, took)
	}
	if left > 2*partitions {
		s.w.t.Errorf("%d more files are open", left)
	}
}

// cpu is what the process has used.
func (s *served) cpu() time.Duration {
	s.w.t.Helper()
	b, err := os.ReadFile(s.proc("stat"))
	if err != nil {
		s.w.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name may hold anything
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] { // user and system
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			s.w.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100 // Linux's USER_HZ
}

func (s *served) files() int {
	s.w.t.Helper()
	open, err := os.ReadDir(s.proc("fd"))
	if err != nil {
		s.w.t.Fatal(err)
	}
	return len(open)
}

func (s *served) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), name)
}

// underLoad starts a member, and harms its disk in the middle of a load; it must say so,
// wait in patience, and go on by itself when the disk is well again.
func underLoad(t *testing.T, cause string, harm func(*served) (heal func())) {
	t.Helper()
	w := newWorld(t, kafkatest.Bootstrap(t))
	s := w.newServed()
	s.start()
	s.awaitStatus(http.StatusOK)
	w.observe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	published := w.load(ctx, rate)
	w.pause(ctx, seconds(t)/4, seconds(t)/3)
	heal := harm(s)
	s.awaitFailure(cause)
	s.wantPatience(cause)
	heal()
	s.awaitStatus(http.StatusOK)
	w.pause(ctx, seconds(t)/4, seconds(t)/3)
	stop()
	t.Logf("published %d events", <-published)
	w.awaitAnswers()
	s.stop()
	w.verify()
}

const (
	diskFull = "no space left on device"
	readOnly = "read-only file system"
)

func TestFullDiskOfAProcessor(t *testing.T) {
	underLoad(t, diskFull, func(s *served) func() { return s.disk.fill() })
}

// A disk that turns read-only is met when a store is opened: at the next rebalance.
func TestReadOnlyDiskOfAProcessor(t *testing.T) {
	underLoad(t, readOnly, func(s *served) func() {
		uncover := s.disk.cover()
		other := s.w.newMember()
		other.start()
		return func() {
			uncover()
			other.stop()
		}
	})
}
