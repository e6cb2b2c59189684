package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"github.com/rs/zerolog"
)

// Damage is what can be wrong with a [Wire].
type Damage string

// The kinds of damage.
const (
	// Down closes all connections and refuses others.
	Down Damage = "down"
	// Reset resets each connection as soon as something comes over it.
	Reset Damage = "reset"
	// Delayed holds everything for up to half a second, each way.
	Delayed Damage = "delayed"
	// HalfOpen swallows everything, and takes new connections. Those of that time stay
	// open and deaf also when the wire is whole again, as when the other end has crashed.
	HalfOpen Damage = "half-open"
	// PartlyHalfOpen is HalfOpen for each way of each connection by chance.
	PartlyHalfOpen Damage = "partly half-open"
	// Slow lets 20 KB through in a second, each way.
	Slow Damage = "slow"
	// Sliced delivers in pieces of some bytes.
	Sliced Damage = "sliced"
)

// Damages are all kinds.
var Damages = []Damage{Down, Reset, Delayed, HalfOpen, PartlyHalfOpen, Slow, Sliced}

// toxic is what toxiproxy does for a kind of damage, each way.
var toxic = map[Damage]struct {
	kind       string
	attributes map[string]int
}{
	Reset:          {"reset_peer", map[string]int{"timeout": 0}},
	Delayed:        {"latency", map[string]int{"latency": 250, "jitter": 250}},
	HalfOpen:       {deafType, map[string]int{"percent": 100}},
	PartlyHalfOpen: {deafType, map[string]int{"percent": 50}},
	Slow:           {"bandwidth", map[string]int{"rate": 20}},
	Sliced:         {"slicer", map[string]int{"average_size": 24, "size_variation": 16, "delay": 50}},
}

// Wire is a TCP proxy that can be damaged. Its methods are for one goroutine.
type Wire struct {
	proxy *toxiproxy.Proxy
	deaf  []*deaf // of the present damage
	names []string
	made  int
}

// NewWire listens at an address and passes everything on to the other one.
func NewWire(listen, upstream string) (*Wire, error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w := &Wire{proxy: toxiproxy.NewProxy(server, listen, listen, upstream)}
	if err := w.proxy.Start(); err != nil {
		return nil, fmt.Errorf("proxy at %s: %w", listen, err)
	}
	return w, nil
}

// Address is where the wire listens.
func (w *Wire) Address() string { return w.proxy.Listen }

// Close ends all connections.
func (w *Wire) Close() { w.proxy.Stop() }

// Damage does one kind of damage, in addition to what is there.
func (w *Wire) Damage(d Damage) error {
	if d == Down {
		w.proxy.Stop()
		return nil
	}
	for _, way := range []string{"upstream", "downstream"} {
		if err := w.add(d, way); err != nil {
			return fmt.Errorf("make the wire %s %s: %w", d, way, err)
		}
	}
	return nil
}

func (w *Wire) add(d Damage, way string) error {
	w.made++
	name := fmt.Sprint(d, w.made)
	text, err := json.Marshal(map[string]any{
		"name": name, "type": toxic[d].kind, "stream": way, "attributes": toxic[d].attributes,
	})
	if err != nil {
		return err
	}
	added, err := w.proxy.Toxics.AddToxicJson(strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	if made, ok := added.Toxic.(*deaf); ok {
		w.deaf = append(w.deaf, made)
	} else {
		w.names = append(w.names, name)
	}
	return nil
}

// Heal makes the wire whole. Connections that are half-open stay so.
func (w *Wire) Heal() error {
	var errs []error
	for _, name := range w.names {
		errs = append(errs, w.proxy.Toxics.RemoveToxic(context.Background(), name))
	}
	for _, d := range w.deaf {
		d.over.Store(true)
	}
	w.names, w.deaf = nil, nil
	if err := w.proxy.Start(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// deafType is deaf's name among toxiproxy's toxics.
const deafType = "deaf"

// deaf swallows, for as long as they last, what comes over connections of its time.
// toxiproxy's own timeout closes them at its end, which tells both sides.
type deaf struct {
	// Percent of the connections are deaf.
	Percent int `json:"percent"`
	over    atomic.Bool
}

// NewState tells, of each connection, whether it hears.
func (d *deaf) NewState() any { return d.over.Load() || rand.IntN(100) >= d.Percent }

// Pipe is toxiproxy's.
func (d *deaf) Pipe(stub *toxics.ToxicStub) {
	if hears, _ := stub.State.(bool); hears {
		new(toxics.NoopToxic).Pipe(stub)
		return
	}
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
		}
	}
}

func init() { toxics.Register(deafType, new(deaf)) }
