package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/tieredlog/rlmm/internal/doctor"
	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/internal/metrics"
)

// How often the topics' settings are looked at, and after a look in vain.
const (
	settingsEvery = 10 * time.Minute
	settingsAgain = time.Minute
)

// settingsWatch looks at the topics' settings now and then, as rlmm doctor does.
type settingsWatch struct {
	kafka  kafka.Settings
	want   doctor.Want
	topics metrics.Topics
	log    *slog.Logger
}

func (m monitor) watchSettings(ctx context.Context, k kafka.Settings, want doctor.Want, log *slog.Logger) {
	settingsWatch{k, want, metrics.RegisterTopics(m.registry), log}.run(ctx)
}

// run looks until ctx ends.
func (w settingsWatch) run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := settingsEvery
		ok, err := w.look(ctx)
		if err == nil {
			w.topics.Set(ok)
		} else if ctx.Err() == nil {
			pause = settingsAgain
			w.topics.Unknown()
			w.log.Debug("topics' settings not to be had", "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// look uses a connection of its own: it is seldom needed.
func (w settingsWatch) look(ctx context.Context) (map[string]bool, error) {
	cluster, err := kafka.Connect(ctx, w.kafka)
	if err != nil {
		return nil, err
	}
	defer cluster.Close() //nolint:errcheck // nothing is lost
	return doctor.Settings(ctx, cluster, w.want)
}
