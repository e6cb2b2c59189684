package processor_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/rlmmtest"
	"github.com/tieredlog/rlmm/internal/store"
)

// newerRow is the answer of a release that knows a row version more to the event at the
// offset.
func newerRow(id api.RemoteLogSegmentID, offset int64) *kgo.Record {
	return &kgo.Record{
		Topic: rlmmtest.Table, Key: []byte(codec.SegmentKey(id)), Value: []byte{byte(codec.NewestRowVersion + 1), 1},
		Headers: []kgo.RecordHeader{
			{Key: "rlmm.offset", Value: fmt.Append(nil, offset)},
			{Key: "rlmm.outcome", Value: []byte(codec.OutcomeApplied.String())},
		},
	}
}

// A row of a newer release ends a processor before it has answered anything, with a store
// and without, also when no event ever meets that row.
func TestNewerRowIsRefused(t *testing.T) {
	t.Parallel()
	c := rlmmtest.NewCluster(t, 1)
	p := c.RunProcessor()
	s := rlmmtest.Segment(c.PartitionOn(0, 0), 1, 0, 9)
	c.PublishEvents(s)
	c.WaitApplied()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	c.PublishEvents(rlmmtest.Update(s, api.CopySegmentFinished))
	c.PublishTo(newerRow(s.ID, 1))
	c.PublishEvents(rlmmtest.Segment(s.Partition(), 2, 10, 19))
	for _, folder := range []string{p.DataDir, t.TempDir()} {
		err := wantGivenUp(t, c, c.StartProcessor(rlmmtest.InFolder(folder)), "newer than this reader knows", "upgrade")
		var newer *codec.RowVersionError
		if !errors.As(err, &newer) || newer.Version != codec.NewestRowVersion+1 {
			t.Errorf("%v", err)
		}
	}
	if n := len(c.Answers(0)); n != 2 {
		t.Errorf("%d answers, 2 before", n)
	}
}

// A store that another release wrote is moved aside and built anew from the table.
func TestStoreOfAnotherFormatIsRebuilt(t *testing.T) {
	t.Parallel()
	for name, formats := range rlmmtest.StoreFormats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := rlmmtest.NewCluster(t, 1)
			p := c.RunProcessor()
			publishLives(c, 0, 5)
			c.WaitApplied()
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(p.DataDir, "processor", "0")
			rlmmtest.SetFormat(t, dir, formats)
			p = c.RunProcessor(rlmmtest.InFolder(p.DataDir))
			publishLives(c, 5, 5)
			c.WaitApplied()
			c.VerifyTable()
			rlmmtest.WantMovedAside(t, dir, store.ResetFormat)
			if resets := p.Stats().Resets; resets != 1 {
				t.Errorf("%d stores were reset", resets)
			}
		})
	}
}
