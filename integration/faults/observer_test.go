//go:build integration

package faults_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api/rest"
	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/table"
	"github.com/tieredlog/rlmm/views"
)

// observer is a manager that is asked all the time, in this process or in one of its own.
type observer struct {
	*faults.Recorder
	w    *world
	name string
	dir  string
	// manager is nil when it is in a process of its own.
	manager *views.Manager
	// what came out, once it is concluded
	counts   faults.Counts
	findings int
	// close ends the manager, so that its store can be read.
	close func()
}

// observe starts a manager with a folder of its own on all partitions, and asks it all
// the time until verify, which judges every answer. It returns once it is ready.
func (w *world) observe(change ...func(*views.Config)) *observer {
	w.t.Helper()
	dir := w.t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { log.Close() })
	cfg := views.Config{
		Kafka: w.settings(), MetadataTopic: w.topic, Group: w.group, DataDir: dir,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	ends := w.inputEnds()
	m := w.startManager(cfg)
	o := &observer{w: w, name: fmt.Sprint("view ", len(w.observers)), dir: cfg.DataDir, manager: m}
	o.close = func() {
		if err := m.Close(); err != nil {
			w.t.Errorf("close %s: %v", o.name, err)
		}
	}
	w.record(o, faults.Observed{Manager: m})
	o.relyOn(ends)
	w.t.Cleanup(func() {
		o.Stop()
		_ = m.Close()
		w.showLog(log.Name())
	})
	return o
}

// server is an observer of a manager in a process of its own (rlmm serve).
type server struct {
	*observer
	*member
}

// serve starts a server on all partitions, and asks it over HTTP all the time until
// verify. It needs the table to be there.
func (w *world) serve() *server {
	w.t.Helper()
	m, address := w.newServe()
	s := w.observeServer(m, address)
	s.restart()
	return s
}

// newServe is a server that isn't started yet, and its address.
func (w *world) newServe() (m *member, address string) {
	w.t.Helper()
	address = kafkatest.FreeAddress(w.t)
	return w.newProcess("serve", "--http", address, "--allow-mutations"), address
}

// observeServer asks what will serve a manager of all partitions at the address.
func (w *world) observeServer(m *member, address string) *server {
	w.t.Helper()
	client, err := rest.NewClient("http://"+address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	s := &server{&observer{w: w, name: fmt.Sprint("server ", len(w.observers)), dir: m.dir, close: m.stop}, m}
	w.record(s.observer, faults.Observed{Manager: client})
	w.t.Cleanup(s.Stop)
	return s
}

// restart starts the server's process, which mustn't run.
func (s *server) restart() {
	s.observer.w.t.Helper()
	s.relyOn(s.observer.w.inputEnds())
	s.start()
}

// startManager starts a manager on all partitions, once the fleet has made the table.
func (w *world) startManager(cfg views.Config) *views.Manager {
	w.t.Helper()
	w.await("the table is there", func() bool {
		_ = w.client.RefreshMetadata(table.TopicOf(w.group))
		p, err := w.client.Partitions(table.TopicOf(w.group))
		return err == nil && len(p) == partitions
	})
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	m, err := views.NewManager(ctx, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := m.ReconcileAssignment(ctx, everyPartition()); err != nil {
		w.t.Fatal(err)
	}
	if err := m.WaitReady(ctx); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func everyPartition() []int32 {
	all := make([]int32, partitions)
	for p := range all {
		all[p] = int32(p)
	}
	return all
}

// record begins to ask the observer's manager.
func (w *world) record(o *observer, observed faults.Observed) {
	observed.Name, observed.Partitions, observed.UserPartitions = o.name, partitions, faults.LoadPartitions()
	observed.Ends, observed.Seed, observed.MutateEvery = w.ends, w.random.Uint64(), w.mutateEvery
	observed.Lives = w.lives
	observed.Acknowledged = func(p int32) int64 { return w.acknowledged[p].Load() }
	o.Recorder = faults.Record(observed)
	w.observers = append(w.observers, o)
}

// ends reads the end of every partition of the input.
func (w *world) ends() ([]int64, error) {
	ends := make([]int64, partitions)
	for p := range ends {
		end, err := w.client.GetOffset(w.topic, int32(p), sarama.OffsetNewest)
		if err != nil {
			return nil, err
		}
		ends[p] = end
	}
	return ends, nil
}

// inputEnds are the ends of the input's partitions now, however long it takes.
func (w *world) inputEnds() []int64 {
	w.t.Helper()
	ends := make([]int64, partitions)
	for p := range ends {
		ends[p] = w.end(w.topic, int32(p))
	}
	return ends
}

// relyOn says that the observer's manager was started when the input ended there, and so
// must have applied all of that whenever it answers.
func (o *observer) relyOn(ends []int64) {
	for p, end := range ends {
		o.Rely(int32(p), end-1)
	}
}

// conclude waits until the manager has applied everything, asks it everything once more,
// ends it and judges what it said in its time.
func (o *observer) conclude(history *faults.History) {
	o.w.t.Helper()
	ctx, cancel := context.WithTimeout(o.w.t.Context(), patience)
	defer cancel()
	if err := o.awaitCaughtUp(ctx); err != nil {
		o.w.t.Errorf("%s isn't ready again: %v", o.name, err)
	}
	asked, final := o.Final(ctx, history)
	o.Stop()
	o.close()
	counts, findings := o.Judge(history)
	all := append(findings, final...)
	if o.counts, o.findings = counts, len(all); len(all) > 0 {
		o.w.t.Errorf("%s:\n%s", o.name, all)
	}
	o.w.t.Logf("%s: %+v, and %d at the end", o.name, counts, asked)
}

// awaitCaughtUp returns why the manager isn't caught up when the context ends first.
func (o *observer) awaitCaughtUp(ctx context.Context) error {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		err := o.Behind(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// showLog shows the end of a log when the test has failed.
func (w *world) showLog(path string) {
	if !w.t.Failed() {
		return
	}
	if b, err := os.ReadFile(path); err == nil {
		w.t.Logf("%s:\n%s", path, tail(string(b), 40))
	}
}
