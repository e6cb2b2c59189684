package views_test

import (
	"strings"
	"testing"

	"github.com/tieredlog/rlmm/internal/kafka"
	"github.com/tieredlog/rlmm/views"
)

// A manager would publish into what the fleet writes.
func TestMetadataTopicIsNoneOfTheGroups(t *testing.T) {
	for _, topic := range []string{"g-table", "g-rejected"} {
		cfg := views.Config{Kafka: kafka.Settings{Bootstrap: []string{"localhost:9092"}}, DataDir: "d", Group: "g", MetadataTopic: topic}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), topic) {
			t.Errorf("metadata topic %s: %v", topic, err)
		}
	}
}
