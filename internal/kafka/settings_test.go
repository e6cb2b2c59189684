package kafka

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

func TestSettingsValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Settings
		want []string // parts of the error; none is no error
	}{
		{"least", Settings{Bootstrap: []string{"a:1"}}, nil},
		{"all", Settings{Bootstrap: []string{"a:1", "b:2"}, ClientID: "c", SessionTimeout: time.Second, FetchMaxWait: time.Second}, nil},
		{"empty", Settings{}, []string{"bootstrap"}},
		{"everything wrong", Settings{SessionTimeout: -1, FetchMaxWait: -1}, []string{"bootstrap", "session timeout", "fetch max wait"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.s.Validate()
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("got %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v says nothing of the %s", err, part)
				}
			}
		})
	}
}

func TestClientSettings(t *testing.T) {
	for _, s := range []Settings{
		{Bootstrap: []string{"a:1"}},
		{Bootstrap: []string{"a:1"}, ClientID: "me", SessionTimeout: 6 * time.Second, FetchMaxWait: 20 * time.Millisecond},
	} {
		consumer, group, producer := s.Consumer(), s.Group(), s.Producer()
		for name, c := range map[string]*sarama.Config{"consumer": consumer, "group": group, "producer": producer} {
			noError(t, c.Validate())
			if c.Metadata.AllowAutoTopicCreation {
				t.Errorf("a %s creates topics", name)
			}
			wantSame(t, "client id", cmp.Or(s.ClientID, "rlmm"), c.ClientID)
		}
		wantSame(t, "first offset", sarama.OffsetOldest, consumer.Consumer.Offsets.Initial)
		wantSame(t, "fetch wait", cmp.Or(s.FetchMaxWait, 100*time.Millisecond), group.Consumer.MaxWaitTime)
		wantSame(t, "session timeout", cmp.Or(s.SessionTimeout, 10*time.Second), group.Consumer.Group.Session.Timeout)
		if group.Consumer.Group.ResetInvalidOffsets {
			t.Error("a group starts over when its offset is out of range")
		}
		wantSame(t, "acks", sarama.WaitForAll, producer.Producer.RequiredAcks)
		wantSame(t, "flush", []int64{0, 0, 0}, []int64{
			int64(producer.Producer.Flush.Frequency), int64(producer.Producer.Flush.Bytes), int64(producer.Producer.Flush.Messages),
		})
	}
}
