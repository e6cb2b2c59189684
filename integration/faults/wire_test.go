package faults_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/integration/faults"
)

// echo is a server that sends back what it gets, behind a wire.
func echo(t *testing.T) *faults.Wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	w, err := faults.NewWire("127.0.0.1:0", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

type conn struct {
	net.Conn
	*bufio.Reader
}

func dial(t *testing.T, w *faults.Wire) conn {
	t.Helper()
	c, err := net.Dial("tcp", w.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return conn{c, bufio.NewReader(c)}
}

// asked sends a line and returns whether it comes back in the time.
func asked(c conn, line string, patience time.Duration) error {
	if _, err := c.Write([]byte(line + "\n")); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	got, err := c.ReadString('\n')
	if err == nil && got != line+"\n" {
		err = errors.New("came back as " + got)
	}
	return err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWireHealsOfEachDamage(t *testing.T) {
	for _, d := range faults.Damages {
		t.Run(string(d), func(t *testing.T) {
			w := echo(t)
			for range 3 {
				must(t, asked(dial(t, w), "before", time.Minute))
				must(t, w.Damage(d))
				must(t, w.Heal())
				must(t, asked(dial(t, w), "after", time.Minute))
			}
		})
	}
}

func TestWireThatIsDownRefuses(t *testing.T) {
	w := echo(t)
	c := dial(t, w)
	must(t, asked(c, "before", time.Minute))
	must(t, w.Damage(faults.Down))
	if err := asked(c, "down", time.Minute); err == nil {
		t.Error("an old connection works")
	}
	if c, err := net.Dial("tcp", w.Address()); err == nil {
		c.Close()
		t.Error("a new connection is taken")
	}
}

func TestWireThatResetsCloses(t *testing.T) {
	w := echo(t)
	must(t, w.Damage(faults.Reset))
	if err := asked(dial(t, w), "reset", time.Minute); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestWireDelays(t *testing.T) {
	for _, d := range []faults.Damage{faults.Delayed, faults.Slow, faults.Sliced} {
		t.Run(string(d), func(t *testing.T) {
			w := echo(t)
			must(t, w.Damage(d))
			began := time.Now()
			for range 5 {
				must(t, asked(dial(t, w), string(make([]byte, 2000)), time.Minute))
			}
			if took := time.Since(began); took < 10*time.Millisecond {
				t.Errorf("took %v", took)
			}
		})
	}
}

// Half-open connections stay open and deaf; those that come after the damage hear.
func TestWireThatIsHalfOpenStaysSo(t *testing.T) {
	w := echo(t)
	old := dial(t, w)
	must(t, asked(old, "before", time.Minute))
	must(t, w.Damage(faults.HalfOpen))
	during := dial(t, w)
	for _, c := range []conn{old, during} {
		if err := asked(c, "lost", 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("during the damage: %v", err)
		}
	}
	must(t, w.Heal())
	must(t, asked(dial(t, w), "after", time.Minute))
	for _, c := range []conn{old, during} {
		if err := asked(c, "lost", 50*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after it: %v", err)
		}
	}
}
