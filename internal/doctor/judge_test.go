package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
)

var want = Want{Topic: "__remote_log_metadata", Group: "rlmm", Partitions: 50, Replication: 3}

// healthy is a cluster of three brokers that lacks nothing.
func healthy() Facts {
	topic := func(name, cleanup string) Topic {
		return Topic{
			Name:        name,
			TopicDetail: kafka.TopicDetail{Topic: kafka.Topic{Name: name, ID: api.UUIDFromBits(1, 1), Partitions: 50}, ReplicationFactor: 3},
			Settings: map[string]string{
				"cleanup.policy": cleanup, "retention.ms": "-1", "retention.bytes": "-1", "delete.retention.ms": "604800000",
				"min.insync.replicas": "2", "max.message.bytes": "1048588",
			},
		}
	}
	f := Facts{
		ClusterID: "c", Group: kafka.Group{State: "Stable", Members: 2}, Rejections: map[codec.Outcome]Rejections{},
		Metadata: topic("__remote_log_metadata", "delete"), Table: topic("rlmm-table", "compact"), Rejected: topic("rlmm-rejected", "delete"),
		Partitions: []Partition{
			{Number: 0, End: 10, Applied: 9, Waiting: -1, ClusterID: "c", TopicID: api.UUIDFromBits(1, 1)},
			{Number: 1, Applied: -1, Waiting: -1}, // empty
			{Number: 2, End: 10, Applied: 7, Waiting: -1, ClusterID: "c", TopicID: api.UUIDFromBits(1, 1)}, // control records behind it
		},
		Tiered: []Tiered{{"orders", week}},
	}
	for id := range int32(3) {
		f.Brokers = append(f.Brokers, Broker{
			BrokerVersions: kafka.BrokerVersions{ID: id, MaxVersions: map[int16]int16{apiMetadata: 13, apiInitProducerID: 5}}, TieredStorage: "true",
		})
	}
	return f
}

// TestJudge plants a fault of each kind in a healthy cluster, and finds it alone.
func TestJudge(t *testing.T) {
	denied := &kafka.DeniedError{Operation: "Describe", On: kafka.OnGroup("rlmm"), Err: sarama.ErrGroupAuthorizationFailed}
	for _, c := range []struct {
		name  string
		plant func(*Facts)
		want  []string // check, severity and a part of what
	}{
		{"nothing", func(*Facts) {}, nil},
		{"one broker", func(f *Facts) {
			f.Brokers = f.Brokers[:1]
			for _, t := range []*Topic{&f.Metadata, &f.Table, &f.Rejected} {
				t.ReplicationFactor, t.Settings["min.insync.replicas"] = 1, "1"
			}
		}, nil},
		{"a broker that is down", func(f *Facts) { f.Brokers[1].Err = errors.New("refused") }, []string{"broker error broker 1 () doesn't answer: refused"}},
		{"an old broker", func(f *Facts) { f.Brokers[1].MaxVersions[apiMetadata] = 9 }, []string{"broker error broker 1 () is older than Kafka 2.8"}},
		{"tiered storage off", func(f *Facts) { f.Brokers[2].TieredStorage = "false" }, []string{"tiered_storage warning broker 2 has tiered storage off"}},
		{"tiered storage not told", func(f *Facts) { f.Brokers[2].TieredStorage = "" }, nil},
		{"no metadata topic", func(f *Facts) { f.Metadata, f.Partitions = Topic{Name: "m", Missing: true}, nil }, []string{"topic error the metadata topic m doesn't exist"}},
		{"no table", func(f *Facts) { f.Table, f.Partitions = Topic{Name: "t", Missing: true}, nil }, []string{"topic error the fleet's topic t doesn't exist"}},
		{"no rejected events", func(f *Facts) { f.Rejected = Topic{Name: "r", Missing: true} }, []string{"topic error the fleet's topic r doesn't exist"}},
		{"another count", func(f *Facts) { f.Metadata.Partitions, f.Table.Partitions = 60, 60 }, []string{"partitions error topic __remote_log_metadata has 60 partitions, and 50 are configured"}},
		{"another count in the table", func(f *Facts) { f.Table.Partitions = 60 }, []string{"partitions error topic rlmm-table has 60 partitions, the metadata topic 50"}},
		{"compacted metadata", func(f *Facts) { f.Metadata.Settings["cleanup.policy"] = "compact" }, []string{"cleanup_policy error cleanup.policy of topic __remote_log_metadata is compact, must be delete"}},
		{"deleted table", func(f *Facts) { f.Table.Settings["cleanup.policy"] = "compact,delete" }, []string{"cleanup_policy error cleanup.policy of topic rlmm-table is compact,delete, must be compact"}},
		{"retention", func(f *Facts) { f.Metadata.Settings["retention.ms"] = "604800000" }, []string{"retention error topic __remote_log_metadata keeps events for 7 days, and 1 tiered topics keep data as long or longer (orders: 7 days)"}},
		{"retention, and data for ever", func(f *Facts) {
			f.Metadata.Settings["retention.ms"], f.Tiered = "691200000", append(f.Tiered, Tiered{"a", 9 * week}, Tiered{"b", -1})
		}, []string{"retention error topic __remote_log_metadata keeps events for 8 days, and 2 tiered topics keep data as long or longer (b: for ever)"}},
		{"retention that is long enough", func(f *Facts) { f.Metadata.Settings["retention.ms"] = "691200000" }, nil},
		{"retention by size", func(f *Facts) { f.Metadata.Settings["retention.bytes"] = "5" }, []string{"retention error topic __remote_log_metadata is cut to 5 bytes"}},
		{"short-lived tombstones", func(f *Facts) { f.Table.Settings["delete.retention.ms"] = "86400000" }, []string{"retention warning topic rlmm-table keeps tombstones for 24h0m0s"}},
		{"few replicas", func(f *Facts) {
			f.Metadata.ReplicationFactor, f.Table.ReplicationFactor = 1, 1
			f.Metadata.Settings["min.insync.replicas"], f.Table.Settings["min.insync.replicas"] = "1", "1"
		}, []string{
			"replication error topic __remote_log_metadata has partitions with 1 replicas, should have 3", "replication warning topic rlmm-table has partitions with 1",
		}},
		{"min isr of all", func(f *Facts) { f.Metadata.Settings["min.insync.replicas"] = "3" }, []string{"min_isr warning min.insync.replicas of topic __remote_log_metadata is 3 of 3 replicas"}},
		{"min isr of more than all", func(f *Facts) { f.Table.Settings["min.insync.replicas"] = "4" }, []string{"min_isr error min.insync.replicas of topic rlmm-table is 4, and it has 3 replicas"}},
		{"min isr of one", func(f *Facts) { f.Rejected.Settings["min.insync.replicas"] = "1" }, []string{"min_isr warning min.insync.replicas of topic rlmm-rejected is 1"}},
		{"replicas", func(f *Facts) {
			f.Table.Leaderless, f.Table.UnderReplicated = []int32{3}, []int32{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		}, []string{
			"replicas error topic rlmm-table: partitions 3 have no leader", "replicas warning topic rlmm-table: partitions 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, and 2 more have replicas",
		}},
		{"small records", func(f *Facts) { f.Rejected.Settings["max.message.bytes"] = "1000" }, []string{"max_message_bytes error topic rlmm-rejected takes 1000 bytes, the metadata topic 1048588"}},
		{"no members", func(f *Facts) { f.Group = kafka.Group{State: "Empty"} }, []string{"fleet error the group rlmm has no members"}},
		{"no group", func(f *Facts) { f.Group = kafka.Group{State: "Dead"} }, []string{"fleet error the group rlmm has no members"}},
		{"a group that rebalances", func(f *Facts) { f.Group.State = "PreparingRebalance" }, []string{"fleet warning the group rlmm is in state PreparingRebalance"}},
		{"lag", func(f *Facts) {
			f.Partitions[0] = Partition{Number: 0, End: 10, Applied: 4, Waiting: 6}
			f.Partitions[1] = Partition{Number: 1, End: 100, Applied: -1, Waiting: 0}
		}, []string{"lag error the table doesn't answer 104 records of metadata partitions 0, 1 (most of 1: 100 records)"}},
		{"another topic", func(f *Facts) { f.Partitions[0].TopicID = api.UUIDFromBits(1, 2) }, []string{"identity error topic __remote_log_metadata was created again: partitions 0 of the table"}},
		{"another cluster", func(f *Facts) { f.Partitions[2].ClusterID = "d" }, []string{"identity error topic __remote_log_metadata was created again: partitions 2 of the table"}},
		{"a table without its head", func(f *Facts) { f.Partitions[1].TableStart = 1 }, []string{"identity error the table has lost its head on partitions 1"}},
		{"a truncated topic", func(f *Facts) { f.Partitions[0].End = 9 }, []string{"identity error topic __remote_log_metadata was truncated or created again: partitions 0 end before"}},
		{"another's record", func(f *Facts) { f.Partitions[1].Foreign = errors.New("offset 3: x") }, []string{"identity error partition 1 of the table has a record that no processor wrote: offset 3: x"}},
		{"rejected events", func(f *Facts) {
			f.Rejections[codec.OutcomeInvalidAdd] = Rejections{2, "3", "17", "known"}
			f.Rejections[codec.OutcomeUndecodable] = Rejections{1, "4", "5", "byte 0"}
		}, []string{
			"rejected warning 2 events were rejected lately with InvalidAdd; the last is 3/17: known", "rejected error 1 events were rejected lately with Undecodable; the last is 4/5: byte 0",
		}},
		{"a topic that may not be described", func(f *Facts) {
			f.Table, f.Partitions = Topic{Name: "rlmm-table", Denied: &kafka.DeniedError{Operation: "Describe", On: kafka.OnTopic("rlmm-table")}}, nil
		}, []string{"rights warning Describe on topic rlmm-table is denied to this client; servers and processors need it"}},
		{"a group that may not be described", func(f *Facts) { f.Group, f.GroupDenied = kafka.Group{}, denied }, []string{"rights warning Describe on group rlmm is denied"}},
		{"another refusal", func(f *Facts) { f.Denied = []error{denied} }, []string{"rights warning Describe on group rlmm is denied"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := healthy()
			c.plant(&f)
			found := Judge(f, want)
			if len(found) != len(c.want) {
				t.Fatalf("%+v, want %q", found, c.want)
			}
			for i, f := range found {
				if got := f.Check + " " + string(f.Severity) + " " + f.What; !strings.HasPrefix(got, c.want[i]) || f.Remedy == "" {
					t.Errorf("%s (%s), want %s", got, f.Remedy, c.want[i])
				}
			}
		})
	}
}

// Every outcome of a rejected event has a remedy, and every check a place.
func TestNothingIsWithoutRemedyOrPlace(t *testing.T) {
	for o := codec.OutcomeApplied; o <= codec.OutcomeRepair; o++ {
		if o.Rejected() != (rejectedRemedies[o] != "") {
			t.Errorf("%s: remedy %q", o, rejectedRemedies[o])
		}
	}
	names := []string{}
	for _, c := range Checks {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(Checks) {
		t.Error("a check is listed twice")
	}
}

func TestSpan(t *testing.T) {
	for d, text := range map[time.Duration]string{-1: "for ever", week: "7 days", 24 * time.Hour: "24h0m0s", 90 * time.Minute: "1h30m0s"} {
		if got := span(d); got != text {
			t.Errorf("%d: %s, want %s", d, got, text)
		}
	}
	if retention(1<<62) != -1 || retention(-1) != -1 || retention(5) != 5*time.Millisecond {
		t.Error("retention")
	}
}
