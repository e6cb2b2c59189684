//go:build integration

package integration_test

import (
	"testing"

	"github.com/tieredlog/rlmm/integration/kafkatest"
	"github.com/tieredlog/rlmm/views"
)

// otherVersion is the oldest Apache Kafka whose tiered storage is said to be ready for
// production, next to the default.
const otherVersion = "3.9.1"

// The main job on the other version of Kafka: a fleet of two, outcomes through manager
// and HTTP, and the log's decision between managers.
func TestOnTheOtherVersion(t *testing.T) {
	f := newFleet(kafkatest.Start(t, kafkatest.WithVersion(otherVersion)).Bootstrap())
	kafkatest.CreateMetadataTopic(t, f.bootstrap, f.topic, 50)
	kafkatest.Load(t, f.bootstrap, f.topic, poison(t))
	f.startProcessor(t)
	f.startProcessor(t)
	m := f.manager(t, views.BoundsSegment)
	t.Run("manager", func(t *testing.T) { outcomes(t, m) })
	t.Run("http", func(t *testing.T) { outcomes(t, overHTTP(t, m)) })
}
