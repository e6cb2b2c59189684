package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/IBM/sarama"
)

// TopicManager is goka's view of a cluster whose topics are ensured already: it
// creates and checks nothing, since goka would create them with its own settings.
type TopicManager struct{ Cluster *Cluster }

// EnsureTableExists does nothing: see [Cluster.Ensure].
func (TopicManager) EnsureTableExists(string, int) error { return nil }

// EnsureStreamExists does nothing: see [Cluster.Ensure].
func (TopicManager) EnsureStreamExists(string, int) error { return nil }

// EnsureTopicExists does nothing: see [Cluster.Ensure].
func (TopicManager) EnsureTopicExists(string, int, int, map[string]string) error { return nil }

// Partitions returns the partitions of a topic, ascending.
func (m TopicManager) Partitions(topic string) ([]int32, error) {
	t, err := m.Cluster.Topic(context.Background(), topic)
	if err != nil {
		return nil, err
	}
	partitions := make([]int32, t.Partitions)
	for p := range t.Partitions {
		partitions[p] = p
	}
	return partitions, nil
}

// GetOffset returns an offset by sarama's constants. The newest one is behind the last
// data record: goka's recovery waits for the record before it.
func (m TopicManager) GetOffset(topic string, partition int32, at int64) (int64, error) {
	if at == sarama.OffsetNewest {
		return m.Cluster.DataEnd(context.Background(), topic, partition)
	}
	return m.Cluster.offset(context.Background(), topic, partition, at)
}

// Close does nothing: the cluster has an owner.
func (TopicManager) Close() error { return nil }

// GokaLogger passes goka's lines on at debug level: to its users they say nothing
// that our own don't.
type GokaLogger struct{ *slog.Logger }

// Print logs a line.
func (l GokaLogger) Print(args ...any) { l.line(fmt.Sprint(args...)) }

// Println logs a line.
func (l GokaLogger) Println(args ...any) { l.line(fmt.Sprintln(args...)) }

// Printf logs a line.
func (l GokaLogger) Printf(format string, args ...any) { l.line(fmt.Sprintf(format, args...)) }

func (l GokaLogger) line(s string) { l.Debug("goka", "line", strings.TrimSpace(s)) }
