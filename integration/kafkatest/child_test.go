package kafkatest

import (
	"bytes"
	"os/exec"
	"testing"
)

func TestChildSaysIntoItsLog(t *testing.T) {
	c := StartChild(t, exec.Command("sh", "-c", "echo talk >&2; echo data"))
	c.Wait(t)
	if got, want := tail(c.log, 5), "talk\ndata"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

func TestChildKeepsItsOwnOutput(t *testing.T) {
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", "echo talk >&2; echo data")
	cmd.Stdout = &out
	c := StartChild(t, cmd)
	c.Wait(t)
	if got := tail(c.log, 5); got != "talk" || out.String() != "data\n" {
		t.Errorf("log %q, output %q", got, out.String())
	}
}

func TestChildStopsInOrder(t *testing.T) {
	c := StartChild(t, exec.Command("sh", "-c", "trap 'echo ended; exit 0' TERM; echo started; while :; do sleep 0.05; done"))
	for !bytes.Contains([]byte(tail(c.log, 5)), []byte("started")) {
		select {
		case <-c.Done():
			t.Fatal("it ended by itself")
		default:
		}
	}
	c.Stop(t)
	if got, want := tail(c.log, 5), "started\nended"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

func TestChildEndsWithItsTest(t *testing.T) {
	var c *Child
	t.Run("child", func(t *testing.T) { c = StartChild(t, exec.Command("sleep", "600")) })
	select {
	case <-c.Done():
	default:
		t.Error("the child has outlived its test")
	}
}
