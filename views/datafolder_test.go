package views_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/views"
)

// A second manager in a folder would move the first one's stores aside.
func TestDataFolderInUseIsRefused(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	c.RunProcessor()
	tip := c.PartitionOn(0, 0)
	dir := t.TempDir()
	inDir := func(cfg *views.Config) { cfg.DataDir = dir }
	first := c.ReadyManager(inDir)
	second, err := views.NewManager(c.Context(), views.Config{Kafka: c.Settings, DataDir: dir, Logger: c.Logger})
	if inUse := (*store.InUseError)(nil); !errors.As(err, &inUse) || !strings.Contains(err.Error(), dir) || second != nil {
		t.Errorf("a second manager: %v, want an error that names %s", err, dir)
	}
	s := rlmmtest.Segment(tip, 1, 0, 9)
	for _, event := range finished(s) {
		if _, err := mutation(c, first, event); err != nil {
			t.Errorf("the first manager: %v", err)
		}
	}
	wantSegment(t, first, tip, 0, 5, s.ID.ID)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	wantSegment(t, c.ReadyManager(inDir), tip, 0, 5, s.ID.ID)
}

// What NewManager couldn't do leaves the folder free.
func TestFailedNewManagerFreesTheFolder(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	cfg := views.Config{Kafka: c.Settings, DataDir: t.TempDir(), Logger: c.Logger}
	if _, err := views.NewManager(c.Context(), cfg); err == nil {
		t.Fatal("a manager without topics")
	}
	c.CreateTopics()
	c.ReadyManager(func(change *views.Config) { change.DataDir = cfg.DataDir })
}
