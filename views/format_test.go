package views_test

import (
	"path/filepath"
	"testing"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
	"github.com/tieredlog/rlmm/views"
)

// A store that another release wrote is moved aside and built anew from the table.
func TestStoreOfAnotherFormatIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, formats := range rlmmtest.StoreFormats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			c.RunProcessor()
			tip := c.PartitionOn(0, 0)
			c.PublishEvents(finished(rlmmtest.Segment(tip, 1, 0, 9))...)
			folder := t.TempDir()
			in := func(cfg *views.Config) { cfg.DataDir = folder }
			must(t, c.ReadyManager(in).Close())
			dir := filepath.Join(folder, "views", "0")
			rlmmtest.SetFormat(t, dir, formats)
			m := c.ReadyManager(in)
			wantSegment(t, m, tip, 0, 5, rlmmtest.ID(1))
			rlmmtest.WantMovedAside(t, dir, store.ResetFormat)
		})
	}
}
