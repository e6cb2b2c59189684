package kafka

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commit makes the group g have an offset for partition 0 of each topic.
func (w *world) commit(topics ...string) {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.addr))
	noError(w.t, err)
	defer client.Close()
	offsets := kadm.Offsets{}
	for _, topic := range topics {
		offsets.AddOffset(topic, 0, 0, -1)
	}
	noError(w.t, kadm.NewClient(client).CommitAllOffsets(w.ctx, "g", offsets))
}

// join makes the group g have a member that reads the topic.
func (w *world) join(topic string) {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.addr), kgo.ConsumerGroup("g"), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit())
	noError(w.t, err)
	w.t.Cleanup(client.Close)
	w.produce(topic, 1)
	noError(w.t, client.PollFetches(w.ctx).Err())
}

// A group that is another topic's is no group for this one. Who was here before isn't
// kept out by what others do in its group.
func TestCheckGroup(t *testing.T) {
	for name, c := range map[string]struct {
		committed []string
		member    string
		taken     bool
	}{
		"no such group":                {},
		"offsets of the topic":         {committed: []string{"t"}},
		"a member of the topic":        {member: "t"},
		"offsets of another":           {committed: []string{"other"}, taken: true},
		"a member of another":          {member: "other", taken: true},
		"offsets of both":              {committed: []string{"other", "t"}},
		"offsets, a member of another": {committed: []string{"t"}, member: "other"},
		"offsets of another, a member": {committed: []string{"other"}, member: "t"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, topic := range []string{"t", "other"} {
				w.create(topic, 1, nil)
			}
			if c.committed != nil {
				w.commit(c.committed...)
			}
			if c.member != "" {
				w.join(c.member)
			}
			err := w.cluster.CheckGroup(w.ctx, "g", "t")
			var taken *GroupTakenError
			switch {
			case !c.taken:
				noError(t, err)
			case !errors.As(err, &taken) || CanHeal(err):
				t.Fatalf("%T: %v", err, err)
			default:
				wantSame(t, "error", &GroupTakenError{"g", "t", "other"}, taken)
			}
			now, err := w.cluster.Group(w.ctx, "g")
			noError(t, err)
			if got := strings.Join(now.Topics, ","); got != c.member {
				t.Errorf("members read %q, want %q", got, c.member)
			}
		})
	}
}

// What can't be asked is no leave to go on.
func TestCheckGroupThatCannotBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		key     kmsg.Key
		err     *kerr.Error
		canHeal bool
	}{
		"offsets denied":  {kmsg.OffsetFetch, kerr.GroupAuthorizationFailed, false},
		"members denied":  {kmsg.DescribeGroups, kerr.GroupAuthorizationFailed, false},
		"offsets failing": {kmsg.OffsetFetch, kerr.UnknownServerError, true},
		"members failing": {kmsg.DescribeGroups, kerr.CoordinatorNotAvailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create("other", 1, nil)
			w.commit("other")
			w.Fault(kfake.Fault{Keys: []kmsg.Key{c.key}, Err: c.err, Count: -1})
			err := w.cluster.CheckGroup(w.ctx, "g", "t")
			if err == nil || CanHeal(err) != c.canHeal || IsDenied(err) == c.canHeal {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
}
