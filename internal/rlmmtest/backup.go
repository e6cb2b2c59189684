package rlmmtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/internal/embedded"
)

// NewKeptCluster is NewCluster with a broker that keeps its logs on disk.
func NewKeptCluster(t testing.TB, partitions int32) *Cluster {
	t.Helper()
	return newCluster(t, partitions, t.TempDir())
}

// Backup is a copy of what a broker keeps.
type Backup struct {
	c   *Cluster
	dir string
}

// Backup restarts the broker, at its address, and copies what it keeps in between.
func (c *Cluster) Backup() *Backup {
	c.t.Helper()
	b := &Backup{c, c.t.TempDir()}
	c.restart(func() { c.must(os.CopyFS(b.dir, os.DirFS(c.dataDir))) })
	return b
}

// Restore restarts the broker and sets the logs of topics back in between, those of all
// when none is named, with all else that the broker keeps: they lose their ends.
func (b *Backup) Restore(topics ...string) {
	b.c.t.Helper()
	b.c.restart(func() {
		if len(topics) == 0 {
			b.restoreFolder(".")
		}
		for _, topic := range topics {
			for _, log := range b.logs(topic) {
				b.restoreFolder(log)
			}
		}
	})
}

// logs are the folders of a topic's partitions.
func (b *Backup) logs(topic string) (found []string) {
	b.c.t.Helper()
	b.c.must(fs.WalkDir(os.DirFS(b.dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), topic+"-") {
			found = append(found, path)
		}
		return err
	}))
	if len(found) == 0 {
		b.c.t.Fatalf("the broker keeps no log of %s", topic)
	}
	return found
}

func (b *Backup) restoreFolder(path string) {
	b.c.t.Helper()
	from, to := filepath.Join(b.dir, path), filepath.Join(b.c.dataDir, path)
	b.c.must(os.RemoveAll(to))
	b.c.must(os.CopyFS(to, os.DirFS(from)))
}

func (c *Cluster) restart(between func()) {
	c.t.Helper()
	c.Close()
	between()
	b, err := embedded.Start(embedded.Config{Addr: c.Settings.Bootstrap[0], DataDir: c.dataDir})
	c.must(err)
	c.Cluster = b.Cluster()
}
