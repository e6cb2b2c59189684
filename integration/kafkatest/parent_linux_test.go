package kafkatest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// parentEnv makes the test binary the parent of TestChildEndsWithItsParent.
const parentEnv = "KAFKATEST_PARENT"

func init() {
	if os.Getenv(parentEnv) == "" {
		return
	}
	p, err := startProcess(exec.Command("sleep", "600"))
	if err != nil {
		panic(err)
	}
	fmt.Println(p.cmd.Process.Pid)
	<-p.done
	os.Exit(0)
}

func TestChildEndsWithItsParent(t *testing.T) {
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, strings.TrimSpace(child))
	_ = parent.Wait() // killed, as it should be
}

// awaitEnd returns when there is no such process, or only its unread exit status: nothing
// tells of the end of a process that isn't a child.
func awaitEnd(t *testing.T, pid string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(30 * time.Second)
	for {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("process %s still runs: %s", pid, stat)
		}
	}
}
