package rlmmtest

import (
	"github.com/tieredlog/rlmm/views"
)

// NewManager returns a manager with a folder of its own and nothing assigned. The
// topics must be there. It ends with the test.
func (c *Cluster) NewManager(change ...func(*views.Config)) *views.Manager {
	c.t.Helper()
	cfg := views.Config{Kafka: c.Settings, DataDir: c.t.TempDir(), Logger: c.Logger}
	for _, f := range change {
		f(&cfg)
	}
	m, err := views.NewManager(c.ctx, cfg)
	c.must(err)
	c.t.Cleanup(func() { _ = m.Close() })
	return m
}

// ReadyManager is NewManager with every metadata partition assigned and ready.
func (c *Cluster) ReadyManager(change ...func(*views.Config)) *views.Manager {
	c.t.Helper()
	m := c.NewManager(change...)
	c.must(m.ReconcileAssignment(c.ctx, c.All()))
	c.must(m.WaitReady(c.ctx))
	return m
}

// All is every metadata partition.
func (c *Cluster) All() []int32 {
	all := make([]int32, c.Partitions)
	for p := range c.Partitions {
		all[p] = p
	}
	return all
}
