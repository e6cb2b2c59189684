//go:build integration

package faults_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/integration/command"
	"github.com/tieredlog/rlmm/integration/faults"
	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/internal/table"
)

const (
	partitions = 8
	patience   = 3 * time.Minute
)

// programs are what this binary does instead of testing when its first argument says so,
// with the others, until it gets SIGTERM: parts with what no setting of the command brings.
var programs = map[string]func(ctx context.Context, args []string) error{
	purgingVerb:       runPurging,
	keptProcessorVerb: runKeptProcessor,
	keptViewVerb:      runKeptView,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := programs[os.Args[1]](ctx, os.Args[2:]); err != nil {
			panic(err)
		}
		return
	}
	code := kafkatest.Main(m)
	command.Remove()
	os.Exit(code)
}

// seconds is how long a test makes trouble.
func seconds(t *testing.T) time.Duration {
	t.Helper()
	s := os.Getenv("RLMM_FAULT_SECONDS")
	if s == "" {
		return 30 * time.Second
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("RLMM_FAULT_SECONDS is %q, not a number of seconds", s)
	}
	return time.Duration(n) * time.Second
}

// full is what a test makes at least of its trouble when it isn't run in its short form.
func full(t *testing.T, least int) int {
	t.Helper()
	if seconds(t) < 2*time.Minute {
		return 0
	}
	return least
}

func seed(t *testing.T) uint64 {
	t.Helper()
	n := uint64(time.Now().UnixNano()) % 1_000_000_007
	if s := os.Getenv("RLMM_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("RLMM_SEED is %q, not a number", s)
		}
	}
	t.Logf("RLMM_SEED=%d", n)
	return n
}

// world is a fleet on a topic of its own, and what is done to it.
type world struct {
	t         *testing.T
	seed      uint64
	random    *rand.Rand
	bootstrap []string
	topic     string
	group     string
	client    sarama.Client
	dirs      []string // of all processors ever
	observers []*observer
	// mutateEvery is the observers' pause between mutations; 0 is a recorder's default.
	mutateEvery time.Duration
	lives       int // of the observers' mutators, as a recorder takes it
	// cut is what was on the head of the input before it was cut off, by partition.
	cut map[int32][]*sarama.ConsumerMessage

	// loading is held while a load publishes; who holds it has loads wait.
	loading sync.Mutex

	// acknowledged is, for each partition, the greatest offset that a load's publish was
	// acknowledged at.
	acknowledged [partitions]atomic.Int64
}

func newWorld(t *testing.T, bootstrap []string) *world {
	t.Helper()
	id := strings.Trim(api.RandomUUID().String(), "-_")
	seed := seed(t)
	w := &world{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), bootstrap: bootstrap,
		topic: "rlmm-fault-" + id, group: "rlmm-fault-" + id,
	}
	for p := range w.acknowledged {
		w.acknowledged[p].Store(-1)
	}
	kafkatest.CreateMetadataTopic(t, bootstrap, w.topic, partitions)
	client, err := sarama.NewClient(bootstrap, w.settings().Consumer())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	w.client = client
	return w
}

func (w *world) settings() kafka.Settings { return kafka.Settings{Bootstrap: w.bootstrap} }

// member is a processor in a process of its own, or a server.
type member struct {
	w   *world
	dir string
	// program is run instead of the rlmm command when it isn't empty.
	program string
	args    []string
	cmd     *exec.Cmd
	log     *os.File
	done    chan struct{}
}

func (w *world) newMember() *member {
	m := w.newProcess("processor", "--create-topics", "--replication-factor", "1", "--session-timeout", "6s")
	w.dirs = append(w.dirs, m.dir)
	return m
}

// newProcess is a command on the world's topic that isn't started yet.
func (w *world) newProcess(verb string, args ...string) *member {
	dir := w.t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		w.t.Fatal(err)
	}
	args = append([]string{verb, "--bootstrap", strings.Join(w.bootstrap, ","), "--topic", w.topic, "--group", w.group, "--data", dir}, args...)
	m := &member{w: w, dir: dir, args: args, log: log}
	w.t.Cleanup(func() {
		m.kill()
		w.showLog(log.Name())
		log.Close()
	})
	return m
}

func tail(s string, n int) string {
	l := strings.Split(s, "\n")
	return strings.Join(l[max(0, len(l)-n):], "\n")
}

func (m *member) start() {
	m.w.t.Helper()
	m.cmd = exec.Command(cmp.Or(m.program, command.Path(m.w.t)), m.args...)
	m.cmd.Stdout, m.cmd.Stderr = m.log, m.log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		m.w.t.Fatal(err)
	}
	done := make(chan struct{})
	m.done = done
	cmd := m.cmd
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
}

func (m *member) signal(s syscall.Signal) {
	if m.cmd != nil {
		_ = m.cmd.Process.Signal(s)
	}
}

// kill ends the process at once.
func (m *member) kill() { m.end(syscall.SIGKILL) }

// stop ends it in order.
func (m *member) stop() { m.end(syscall.SIGTERM) }

func (m *member) end(s syscall.Signal) {
	if m.cmd == nil {
		return
	}
	m.signal(syscall.SIGCONT)
	m.signal(s)
	<-m.done
	m.cmd = nil
}

// load publishes random events until the context ends, and returns how many.
func (w *world) load(ctx context.Context, rate int) <-chan int {
	cfg := w.settings().Producer()
	cfg.Producer.Partitioner = sarama.NewManualPartitioner
	cfg.Producer.Retry.Max = 1000
	producer, err := sarama.NewSyncProducer(w.bootstrap, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	published := make(chan int, 1)
	events := faults.NewEvents(rand.New(rand.NewPCG(w.random.Uint64(), 1)), partitions)
	go func() {
		defer producer.Close()
		n := 0
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			batch := make([]*sarama.ProducerMessage, 0, rate/50+1)
			for range max(1, rate/50) {
				batch = append(batch, events.Next(w.topic))
			}
			w.loading.Lock()
			if err := producer.SendMessages(batch); err == nil {
				n += len(batch)
				w.acknowledge(batch)
			}
			w.loading.Unlock()
		}
		published <- n
	}()
	return published
}

// read returns all data records of a partition.
func (w *world) read(topic string, partition int32) []*sarama.ConsumerMessage {
	w.t.Helper()
	end := w.end(topic, partition)
	consumer, err := sarama.NewConsumerFromClient(w.client)
	if err != nil {
		w.t.Fatal(err)
	}
	defer consumer.Close()
	if end == 0 {
		return nil
	}
	pc, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
	if err != nil {
		w.t.Fatal(err)
	}
	defer pc.Close()
	var all []*sarama.ConsumerMessage
	timeout := time.After(patience)
	for {
		select {
		case m := <-pc.Messages():
			all = append(all, m)
			if m.Offset >= end-1 {
				return all
			}
		case <-timeout:
			w.t.Fatalf("%s/%d: read %d records, end is %d", topic, partition, len(all), end)
		}
	}
}

// end returns the partition's end offset, once its leader answers: a broker that has
// just come back may not lead yet.
func (w *world) end(topic string, partition int32) (end int64) {
	w.t.Helper()
	w.await(fmt.Sprintf("%s/%d has a leader that answers", topic, partition), func() bool {
		var err error
		end, err = w.client.GetOffset(topic, partition, sarama.OffsetNewest)
		return err == nil
	})
	return end
}

// await looks again and again until it is so; the test fails when that takes too long.
func (w *world) await(what string, isSo func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for !isSo() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("not in time: %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// verify is the final check: table from scratch, local stores, and everything that the
// observers saw, against a brute-force fold of the input. It ends the observers.
func (w *world) verify() {
	w.t.Helper()
	for _, o := range w.observers {
		o.StopMutating()
	}
	history := w.history()
	for _, o := range w.observers {
		o.conclude(history)
	}
	var inputs, answers, fences, purges, stores int
	for p := range int32(partitions) {
		want := history.Expected(p)
		replay, findings := faults.CheckTable(w.read(table.TopicOf(w.group), p), want)
		findings = append(findings, faults.Diff(fmt.Sprintf("table %d", p), want.Rows, replay.Rows)...)
		for _, dir := range w.stores(p) {
			rows, at := w.local(dir)
			stores++
			if wrong := faults.Diff(fmt.Sprintf("store %s at %d", dir, at.Table), replay.At(at.Table), rows); !w.isAt(history, p, at.Applied, rows) {
				findings = append(findings, wrong...)
			}
		}
		if len(findings) > 0 {
			w.t.Errorf("partition %d:\n%s", p, findings)
		}
		inputs, answers, fences, purges = inputs+history.Len(p), answers+replay.Answers, fences+replay.Fences, purges+replay.Purges
	}
	w.t.Logf("verified: %d inputs, %d answers, %d fences, %d purges, %d local stores", inputs, answers, fences, purges, stores)
}

// history is what the whole input comes to.
func (w *world) history() *faults.History {
	w.t.Helper()
	inputs := map[int32][]*sarama.ConsumerMessage{}
	for p := range int32(partitions) {
		inputs[p] = append(w.cut[p], w.read(w.topic, p)...)
	}
	h, err := faults.NewHistory(partitions, inputs)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// stores are the stores of a partition that processors and observers have left.
func (w *world) stores(p int32) (dirs []string) {
	for _, dir := range w.dirs {
		dirs = append(dirs, filepath.Join(dir, "processor", strconv.Itoa(int(p))))
	}
	for _, o := range w.observers {
		dirs = append(dirs, filepath.Join(o.dir, "views", strconv.Itoa(int(p))))
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		_, err := os.Stat(dir)
		return err != nil
	})
}

// local reads a store that nobody has open, and how far it is.
func (w *world) local(dir string) (faults.Rows, store.Position) {
	w.t.Helper()
	rows, at, err := store.Dump(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return rows, at
}

// isAt tells whether the rows are the state after the input up to the offset: those of a
// store that nobody opened again since its table was deleted are at no offset of the new one.
func (w *world) isAt(h *faults.History, p int32, applied int64, rows faults.Rows) bool {
	w.t.Helper()
	input := h.Input(p)
	behind := slices.IndexFunc(input, func(m *sarama.ConsumerMessage) bool { return m.Offset > applied })
	if behind >= 0 {
		input = input[:behind]
	}
	want, err := faults.FoldAll(p, partitions, input)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(faults.Diff("", want.Rows, rows)) == 0
}

// acknowledge notes that records are on the topic; those of other topics don't count.
func (w *world) acknowledge(batch []*sarama.ProducerMessage) {
	for _, m := range batch {
		if m.Topic != w.topic {
			continue
		}
		for a := &w.acknowledged[m.Partition]; ; {
			if old := a.Load(); m.Offset <= old || a.CompareAndSwap(old, m.Offset) {
				break
			}
		}
	}
}
