package kafkatest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Backup is a copy of a broker's data.
type Backup struct {
	broker *Broker
	dir    string
}

// Backup stops the broker in order and starts it again; in between it copies its data.
func (b *Broker) Backup(tb testing.TB) *Backup {
	tb.Helper()
	backup := &Backup{b, tb.TempDir()}
	b.Stop(tb)
	if err := os.CopyFS(backup.dir, os.DirFS(b.dataDir())); err != nil {
		tb.Fatalf("back up the broker: %v", err)
	}
	b.Restart(tb)
	return backup
}

// Restore stops the broker in order and starts it again; in between it sets the logs of
// the topic's partitions back to the backup, or all its data without a topic: what was
// written since is lost.
func (b *Backup) Restore(tb testing.TB, topic string) {
	tb.Helper()
	b.broker.Stop(tb)
	folders := []string{"."}
	if topic != "" {
		folders = b.logs(tb, topic)
	}
	for _, folder := range folders {
		to := filepath.Join(b.broker.dataDir(), folder)
		if err := os.RemoveAll(to); err != nil {
			tb.Fatalf("restore the broker: %v", err)
		}
		if err := os.CopyFS(to, os.DirFS(filepath.Join(b.dir, folder))); err != nil {
			tb.Fatalf("restore the broker: %v", err)
		}
	}
	b.broker.Restart(tb)
}

func (b *Backup) logs(tb testing.TB, topic string) (folders []string) {
	tb.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		// topic-table-0 isn't the topic's.
		if number, ok := strings.CutPrefix(e.Name(), topic+"-"); ok && !strings.Contains(number, "-") {
			folders = append(folders, e.Name())
		}
	}
	if len(folders) == 0 {
		tb.Fatalf("the broker keeps no log of %s", topic)
	}
	return folders
}

func (b *Broker) dataDir() string { return filepath.Join(b.dir, "data") }
