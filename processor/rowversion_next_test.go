//go:build rlmm_nextrow

package processor_test

import (
	"testing"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/processor"
)

// Every answer with a row is in the version that the fleet is told, also that to an event
// which leaves the row as it was.
func TestRowsAreWrittenInTheToldVersion(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	s := rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)
	folder := t.TempDir()
	for _, step := range []struct {
		told  codec.RowVersion
		event api.RemoteLogMetadata
	}{
		{1, s},
		{2, s}, // refused: it is known
		{2, rlmmtest.Update(s, api.CopySegmentFinished)},
		{1, s},
		{1, rlmmtest.Update(s, api.DeleteSegmentStarted)},
		{2, rlmmtest.Update(s, api.DeleteSegmentFinished)},
	} {
		p := c.RunProcessor(rlmmtest.InFolder(folder), func(cfg *processor.Config) { cfg.RowVersion = step.told })
		c.PublishEvents(step.event)
		c.WaitApplied()
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		answers := c.Answers(0)
		if got := codec.RowVersionOf(answers[len(answers)-1].Value); got != step.told {
			t.Errorf("told %d, the answer to %T has version %d", step.told, step.event, got)
		}
	}
}
