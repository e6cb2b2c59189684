package processor_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/processor"
)

// A second processor in a folder would move the first one's stores aside.
func TestDataFolderInUseIsRefused(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 2)
	first := c.RunProcessor()
	publishLives(c, 0, 5)
	second := c.StartProcessor(rlmmtest.InFolder(first.DataDir))
	err := wantGivenUp(t, c, second, first.DataDir)
	if inUse := (*store.InUseError)(nil); !errors.As(err, &inUse) {
		t.Errorf("%T: %v", err, err)
	}
	publishLives(c, 5, 5)
	c.WaitApplied()
	c.VerifyTable()
	wantNoAlarms(t, first)
	if s := first.Stats(); s.Sessions != 1 {
		t.Errorf("the first had %d sessions", s.Sessions)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	wantNoAlarms(t, c.RunProcessor(rlmmtest.InFolder(first.DataDir)))
}

// A folder that is missing for now, as one on a disk that isn't mounted yet, is waited
// for.
func TestDataFolderThatComesLater(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	link, target := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "disk")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	tries := &logged{Handler: c.Logger.Handler(), want: link, times: make(chan struct{}, 100)}
	p := c.StartProcessor(rlmmtest.InFolder(link), func(cfg *processor.Config) { cfg.Logger = slog.New(tries) })
	for range 2 {
		select {
		case <-tries.times:
		case <-c.Context().Done():
			t.Fatal("no try was told")
		}
	}
	if _, ok := p.Running(); ok {
		t.Error("it runs without a folder")
	}
	if err := os.Mkdir(target, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := p.WaitRunning(c.Context()); err != nil {
		t.Error(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// A processor that is stopped while it waits for its folder ends in peace.
func TestStopWhileWaitingForTheDataFolder(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(t.TempDir(), "disk"), link); err != nil {
		t.Fatal(err)
	}
	if err := c.StartProcessor(rlmmtest.InFolder(link)).Stop(); err != nil {
		t.Error(err)
	}
}

// What is no folder ends the processor at once.
func TestDataFolderThatIsNoFolder(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := c.StartProcessor(rlmmtest.InFolder(file)).Wait(c.Context())
	if folder := (*store.FolderError)(nil); !errors.As(err, &folder) || !strings.Contains(err.Error(), file) {
		t.Errorf("%v, want an error that names %s", err, file)
	}
}

// logged tells of warnings with the text.
type logged struct {
	slog.Handler
	want  string
	times chan struct{}
}

// Handle implements slog.Handler.
func (l *logged) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if r.Level == slog.LevelWarn && strings.Contains(a.Value.String(), l.want) {
			l.times <- struct{}{}
		}
		return true
	})
	return l.Handler.Handle(ctx, r)
}
