package processor_test

import (
	"errors"
	"testing"

	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
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
