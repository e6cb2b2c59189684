package views

import "testing"

// A gate that is held stays shut, and opens by itself when it is held no more, unless it
// was set shut meanwhile.
func TestHeldGate(t *testing.T) {
	g := newGate()
	for i, step := range []struct {
		do   func()
		open bool
	}{
		{func() { g.hold(true) }, false},
		{func() { g.set(true) }, false},
		{func() { g.hold(false) }, true},
		{func() { g.hold(false) }, true},
		{func() { g.hold(true) }, false},
		{func() { g.hold(false) }, true},
		{func() { g.hold(true) }, false},
		{func() { g.set(false) }, false},
		{func() { g.hold(false) }, false},
	} {
		opened := g.whenOpen()
		step.do()
		if g.isOpen() != step.open {
			t.Errorf("step %d: open is %t", i, g.isOpen())
		}
		if step.open {
			<-opened
		}
	}
}
