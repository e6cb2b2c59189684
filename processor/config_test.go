package processor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/processor"
)

func TestDefaults(t *testing.T) {
	type shown struct {
		Topic, Group           string
		Partitions             int32
		Replication, MinISR    int16
		Purge, Maintain, Renew time.Duration
	}
	show := func(c processor.Config) shown {
		return shown{c.MetadataTopic, c.Group, c.Partitions, c.ReplicationFactor, c.MinISR, c.PurgeAfter, c.MaintainEvery, c.RenewEvery}
	}
	for _, tt := range []struct {
		name  string
		given processor.Config
		want  shown
	}{
		{"nothing", processor.Config{}, shown{"__remote_log_metadata", "rlmm", 50, 3, 2, 24 * time.Hour, time.Hour, 12 * time.Hour}},
		{"one replica", processor.Config{ReplicationFactor: 1}, shown{"__remote_log_metadata", "rlmm", 50, 1, 1, 24 * time.Hour, time.Hour, 12 * time.Hour}},
		{
			"everything",
			processor.Config{MetadataTopic: "m", Group: "g", Partitions: 5, ReplicationFactor: 4, MinISR: 3, PurgeAfter: 2, MaintainEvery: 1, RenewEvery: 3},
			shown{"m", "g", 5, 4, 3, 2, 1, 3},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.given.Defaults()
			if diff := cmp.Diff(tt.want, show(got)); diff != "" {
				t.Error(diff)
			}
			if got.Logger == nil {
				t.Error("no logger")
			}
		})
	}
}

func TestNewNamesEveryFault(t *testing.T) {
	good := processor.Config{Kafka: kafka.Settings{Bootstrap: []string{"localhost:9092"}}, DataDir: "d"}
	for _, tt := range []struct {
		name   string
		change func(*processor.Config)
		want   []string
	}{
		{"good", func(*processor.Config) {}, nil},
		{"no bootstrap", func(c *processor.Config) { c.Kafka.Bootstrap = nil }, []string{"bootstrap"}},
		{"no folder", func(c *processor.Config) { c.DataDir = "" }, []string{"data folder"}},
		{"partitions", func(c *processor.Config) { c.Partitions = -1 }, []string{"partitions"}},
		{"replicas", func(c *processor.Config) { c.ReplicationFactor = -1 }, []string{"replication factor"}},
		{"min ISR", func(c *processor.Config) { c.MinISR = 4 }, []string{"min ISR"}},
		{"times", func(c *processor.Config) { c.PurgeAfter, c.MaintainEvery, c.RenewEvery = -1, -1, -1 }, []string{"purge after", "maintain every", "renew every"}},
		{
			"all at once", func(c *processor.Config) { *c = processor.Config{Partitions: -1, MinISR: 9} },
			[]string{"bootstrap", "data folder", "partitions", "min ISR"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := good
			tt.change(&cfg)
			_, err := processor.New(cfg)
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("got error %v", err)
			}
			for _, fault := range tt.want {
				if !strings.Contains(err.Error(), fault) {
					t.Errorf("%q doesn't name %q", err, fault)
				}
			}
		})
	}
}

// A fleet whose metadata topic is one that it writes would answer its own records.
func TestMetadataTopicIsNoneOfTheGroups(t *testing.T) {
	for _, topic := range []string{"g-table", "g-rejected"} {
		_, err := processor.New(processor.Config{
			Kafka: kafka.Settings{Bootstrap: []string{"localhost:9092"}}, DataDir: "d", Group: "g", MetadataTopic: topic,
		})
		if err == nil || !strings.Contains(err.Error(), topic) {
			t.Errorf("metadata topic %s: %v", topic, err)
		}
	}
}
