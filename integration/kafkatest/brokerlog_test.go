package kafkatest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestBrokerLogIsReadyOnceAllTextsWereSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	log, err := openBrokerLog(path, "started", "initialized")
	if err != nil {
		t.Fatal(err)
	}
	defer log.file.Close()
	for _, part := range []string{"topics initial", "ized\nbroker start", "ed", "\nmore\n"} {
		if isClosed(log.ready) {
			t.Fatalf("ready before %q", part)
		}
		if _, err := fmt.Fprint(log, part); err != nil {
			t.Fatal(err)
		}
		if part == "\nmore\n" && !isClosed(log.ready) {
			t.Error("not ready after both texts")
		}
	}
	if got, want := tail(path, 2), "broker started\nmore"; got != want {
		t.Errorf("tail %q, want %q", got, want)
	}
	if got, want := tail(path, 10), "topics initialized\nbroker started\nmore"; got != want {
		t.Errorf("tail %q, want %q", got, want)
	}
}

func TestTailOfMissingFileSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	_, err := os.ReadFile(path)
	if got := tail(path, 1); got != err.Error() {
		t.Errorf("tail %q, want %q", got, err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
