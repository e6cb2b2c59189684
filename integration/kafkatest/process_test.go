package kafkatest

import (
	"os/exec"
	"testing"
	"time"
)

func TestProcessEndsOnKillAndStop(t *testing.T) {
	for name, end := range map[string]func(*process) error{
		"kill": (*process).kill,
		"stop": func(p *process) error { return p.stop(time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := startProcess(exec.Command("sleep", "600"))
			if err != nil {
				t.Fatal(err)
			}
			if !p.running() {
				t.Error("not running after the start")
			}
			for range 2 { // the second time it has ended
				if err := end(p); err != nil {
					t.Error(err)
				}
			}
			if p.running() {
				t.Error("running after its end")
			}
		})
	}
}

func TestProcessThatIgnoresStopIsKilled(t *testing.T) {
	script := exec.Command("sh", "-c", `trap "" TERM; echo ready; while :; do sleep 600; done`)
	ready, err := script.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(script)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ready.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := p.stop(time.Millisecond); err == nil {
		t.Error("no error for a process that ignores SIGTERM")
	}
	if p.running() {
		t.Error("running after its end")
	}
}

func TestMissingProgramIsAnError(t *testing.T) {
	if _, err := startProcess(exec.Command("/no/such/program")); err == nil {
		t.Error("no error")
	}
}
