package table

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// clockError names the clock when a topic refuses a record for its time
// (message.timestamp.before.max.ms, message.timestamp.after.max.ms); any other error it
// returns as it is.
func clockError(err error, topic string) error {
	if !errors.Is(err, sarama.ErrInvalidTimestamp) {
		return err
	}
	return fmt.Errorf("topic %s refuses this host's time, %s: set the clock right, or the topic's message.timestamp.before.max.ms and message.timestamp.after.max.ms: %w",
		topic, time.Now().UTC().Format(time.RFC3339), err)
}
