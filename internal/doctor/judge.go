package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/codec"
	"github.com/tieredlog/rlmm/internal/kafka"
)

// Judge says what of the facts is wrong, in the order of [Checks].
func Judge(f Facts, w Want) []Finding {
	j := judge{f, w}
	found := slices.Concat(
		j.brokers(), j.topics(), j.partitions(), j.cleanup(), j.retention(), j.replication(), j.minISR(), j.replicas(),
		j.messageBytes(), j.fleet(), j.lag(), j.identity(), j.rejected(), j.rights(),
	)
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(place(a), place(b)) })
	return found
}

func place(f Finding) int {
	for i, c := range Checks {
		if c.Name == f.Check {
			return i
		}
	}
	return len(Checks)
}

type judge struct {
	Facts
	want Want
}

// there are the topics that could be looked at.
func (j judge) there() []Topic {
	return slices.DeleteFunc([]Topic{j.Metadata, j.Table, j.Rejected}, func(t Topic) bool { return !t.isThere() })
}

// each judges every topic that is there.
func (j judge) each(judge func(Topic) []Finding) (found []Finding) {
	for _, t := range j.there() {
		found = append(found, judge(t)...)
	}
	return found
}

// The API versions that protocol 2.8 needs: topic ids in Metadata, and InitProducerId with
// an epoch.
const (
	apiMetadata, minMetadata             = 3, 11
	apiInitProducerID, minInitProducerID = 22, 4
)

func (j judge) brokers() (found []Finding) {
	for _, b := range j.Brokers {
		switch {
		case b.Err != nil:
			found = append(found, finding(CheckBroker, Error, "Start the broker, or mend its address (advertised.listeners) or the network.",
				"broker %d (%s) doesn't answer: %v", b.ID, b.Addr, b.Err)...)
		case b.MaxVersions[apiMetadata] < minMetadata || b.MaxVersions[apiInitProducerID] < minInitProducerID:
			found = append(found, finding(CheckBroker, Error, "Upgrade the broker.", "broker %d (%s) is older than Kafka 2.8", b.ID, b.Addr)...)
		}
		if b.TieredStorage == "false" {
			found = append(found, finding(CheckTieredStorage, Warning, "Set remote.log.storage.system.enable=true at the broker and restart it.",
				"broker %d has tiered storage off", b.ID)...)
		}
	}
	return found
}

func (j judge) topics() []Finding {
	var found []Finding
	if j.Metadata.Missing {
		found = finding(CheckTopic, Error, "Start a broker with tiered storage, or rlmm processor --create-topics. If it was deleted: the metadata is lost, see docs/operations.md.",
			"the metadata topic %s doesn't exist", j.Metadata.Name)
	}
	for _, t := range []Topic{j.Table, j.Rejected} {
		if t.Missing {
			found = append(found, finding(CheckTopic, Error, "Run rlmm processor --create-topics; it is made from the metadata topic.",
				"the fleet's topic %s doesn't exist", t.Name)...)
		}
	}
	return found
}

func (j judge) partitions() (found []Finding) {
	if n := j.Metadata.Partitions; j.Metadata.isThere() && j.want.Partitions > 0 && n != j.want.Partitions {
		found = finding(CheckPartitions, Error,
			"Set remote.log.metadata.topic.num.partitions at every broker to the topic's count. Never add partitions: events of one partition would be on two.",
			"topic %s has %d partitions, and %d are configured", j.Metadata.Name, n, j.want.Partitions)
	}
	if a, b := j.Metadata, j.Table; a.isThere() && b.isThere() && a.Partitions != b.Partitions {
		found = append(found, finding(CheckPartitions, Error, "Stop the processors, run rlmm reset --execute, and start them with --create-topics.",
			"topic %s has %d partitions, the metadata topic %d", b.Name, b.Partitions, a.Partitions)...)
	}
	return found
}

// alter is how to change a topic's setting.
func alter(t Topic, setting string) string {
	return fmt.Sprintf("kafka-configs.sh --alter --topic %s --add-config %s", t.Name, setting)
}

func (j judge) cleanup() []Finding {
	return j.each(func(t Topic) []Finding {
		want := "delete"
		if t.Name == j.Table.Name {
			want = "compact"
		}
		got, known := t.Settings["cleanup.policy"]
		if !known || got == want {
			return nil
		}
		return finding(CheckCleanup, Error, alter(t, "cleanup.policy="+want), "cleanup.policy of topic %s is %s, must be %s", t.Name, got, want)
	})
}

const week = 7 * 24 * time.Hour

func (j judge) retention() (found []Finding) {
	if ms, known := j.Metadata.number("retention.ms"); known && ms >= 0 {
		found = j.outlived(time.Duration(ms) * time.Millisecond)
	}
	if n, known := j.Metadata.number("retention.bytes"); known && n >= 0 {
		found = append(found, finding(CheckRetention, Error, alter(j.Metadata, "retention.bytes=-1"),
			"topic %s is cut to %d bytes a partition: the events of segments that live on will be gone", j.Metadata.Name, n)...)
	}
	if ms, known := j.Table.number("delete.retention.ms"); known && ms < week.Milliseconds() {
		found = append(found, finding(CheckRetention, Warning, alter(j.Table, fmt.Sprintf("delete.retention.ms=%d", week.Milliseconds())),
			"topic %s keeps tombstones for %s: a local store that is older than half of it is built anew", j.Table.Name, span(time.Duration(ms)*time.Millisecond))...)
	}
	return found
}

// outlived finds the topics whose data may live longer than the metadata, and tells the
// one of them that is kept longest.
func (j judge) outlived(kept time.Duration) []Finding {
	longer := slices.DeleteFunc(slices.Clone(j.Tiered), func(t Tiered) bool { return t.Retention >= 0 && t.Retention < kept })
	if len(longer) == 0 {
		return nil
	}
	longest := slices.MaxFunc(longer, func(a, b Tiered) int { return cmp.Compare(uint64(a.Retention), uint64(b.Retention)) })
	return finding(CheckRetention, Error, alter(j.Metadata, "retention.ms=-1"),
		"topic %s keeps events for %s, and %d tiered topics keep data as long or longer (%s: %s): their segments will be forgotten",
		j.Metadata.Name, span(kept), len(longer), longest.Name, span(longest.Retention))
}

func (j judge) replication() []Finding {
	want := min(j.want.Replication, len(j.Brokers))
	return j.each(func(t Topic) []Finding {
		if t.ReplicationFactor >= want {
			return nil
		}
		severity := Warning
		if t.Name == j.Metadata.Name {
			severity = Error // nothing else holds what it holds
		}
		return finding(CheckReplication, severity, "Add replicas with kafka-reassign-partitions.sh.",
			"topic %s has partitions with %d replicas, should have %d", t.Name, t.ReplicationFactor, want)
	})
}

func (j judge) minISR() []Finding {
	return j.each(func(t Topic) []Finding {
		n, known := t.number("min.insync.replicas")
		replicas := int64(t.ReplicationFactor)
		switch {
		case !known || replicas == 0:
			return nil
		case n > replicas:
			return finding(CheckMinISR, Error, alter(t, fmt.Sprintf("min.insync.replicas=%d", max(1, replicas-1))),
				"min.insync.replicas of topic %s is %d, and it has %d replicas: nothing can be written", t.Name, n, replicas)
		case n == replicas && n > 1:
			return finding(CheckMinISR, Warning, alter(t, fmt.Sprintf("min.insync.replicas=%d", replicas-1)),
				"min.insync.replicas of topic %s is %d of %d replicas: one broker's restart stops writes", t.Name, n, replicas)
		case n < 2 && replicas > 2:
			return finding(CheckMinISR, Warning, alter(t, "min.insync.replicas=2"),
				"min.insync.replicas of topic %s is %d: an acknowledged record may be on one broker only", t.Name, n)
		}
		return nil
	})
}

func (j judge) replicas() []Finding {
	return j.each(func(t Topic) (found []Finding) {
		if len(t.Leaderless) > 0 {
			found = finding(CheckReplicas, Error, "Start the brokers that have the replicas.", "topic %s: partitions %s have no leader", t.Name, numbers(t.Leaderless))
		}
		if len(t.UnderReplicated) > 0 {
			found = append(found, finding(CheckReplicas, Warning, "Start the brokers that have the replicas, or wait until they have caught up.",
				"topic %s: partitions %s have replicas that aren't in sync", t.Name, numbers(t.UnderReplicated))...)
		}
		return found
	})
}

// numbers lists partitions, the first few of many.
func numbers(partitions []int32) string {
	const few = 10
	texts := []string{}
	for _, p := range partitions[:min(len(partitions), few)] {
		texts = append(texts, fmt.Sprint(p))
	}
	if len(partitions) > few {
		texts = append(texts, fmt.Sprintf("and %d more", len(partitions)-few))
	}
	return strings.Join(texts, ", ")
}

func (j judge) messageBytes() (found []Finding) {
	limit, known := j.Metadata.number("max.message.bytes")
	if !known {
		return nil
	}
	for _, t := range []Topic{j.Table, j.Rejected} {
		if n, known := t.number("max.message.bytes"); known && n < limit {
			found = append(found, finding(CheckMessageBytes, Error, alter(t, fmt.Sprintf("max.message.bytes=%d", limit)),
				"topic %s takes %d bytes, the metadata topic %d: large events are refused", t.Name, n, limit)...)
		}
	}
	return found
}

func (j judge) fleet() []Finding {
	switch state := j.Group.State; {
	case j.GroupDenied != nil || state == "Stable":
		return nil
	case state == "Empty" || state == "Dead":
		return finding(CheckFleet, Error, "Start rlmm processor.", "the group %s has no members: nobody answers events", j.want.Group)
	default:
		return finding(CheckFleet, Warning, "Look again in a minute. If it stays so, look at the processors' logs: members that come and go, or a session timeout that is too short.",
			"the group %s is in state %s", j.want.Group, state)
	}
}

func (j judge) lag() []Finding {
	var behind []int32
	records, worst := int64(0), int32(-1)
	most := int64(0)
	for _, p := range j.Partitions {
		if p.Waiting < 0 || p.Applied >= p.End {
			continue
		}
		n := p.End - p.Waiting
		behind = append(behind, p.Number)
		records += n
		if n > most {
			most, worst = n, p.Number
		}
	}
	if len(behind) == 0 {
		return nil
	}
	return finding(CheckLag, Error, "Look at the fleet (rlmm health, its logs); start more processors if the lag grows while they work.",
		"the table doesn't answer %d records of metadata partitions %s (most of %d: %d records)", records, numbers(behind), worst, most)
}

const resetRemedy = "Stop the processors, run rlmm reset --execute, and start them with --create-topics. See docs/operations.md on what a lost topic means."

func (j judge) identity() (found []Finding) {
	var foreign, ahead, beheaded []int32
	for _, p := range j.Partitions {
		if p.Foreign != nil {
			found = append(found, finding(CheckIdentity, Error, "Take away others' right to write to the table. "+resetRemedy,
				"partition %d of the table has a record that no processor wrote: %v", p.Number, p.Foreign)...)
		}
		if p.TableStart > 0 {
			beheaded = append(beheaded, p.Number)
		}
		switch {
		case !p.TopicID.IsZero() && (p.TopicID != j.Metadata.ID || p.ClusterID != j.ClusterID):
			foreign = append(foreign, p.Number)
		case p.Applied >= p.End:
			ahead = append(ahead, p.Number)
		}
	}
	if len(foreign) > 0 {
		found = append(found, finding(CheckIdentity, Error, resetRemedy, "topic %s was created again: partitions %s of the table are made from another topic", j.Metadata.Name, numbers(foreign))...)
	}
	if len(beheaded) > 0 {
		found = append(found, finding(CheckIdentity, Error, "Set cleanup.policy=compact on the table. "+resetRemedy,
			"the table has lost its head on partitions %s: retention, or somebody, deleted its first records; whoever hasn't read them is not ready", numbers(beheaded))...)
	}
	if len(ahead) > 0 {
		found = append(found, finding(CheckIdentity, Error, resetRemedy, "topic %s was truncated or created again: partitions %s end before what the table has answered", j.Metadata.Name, numbers(ahead))...)
	}
	return found
}

func (j judge) rejected() (found []Finding) {
	for _, outcome := range slices.Sorted(maps.Keys(j.Rejections)) {
		r, severity := j.Rejections[outcome], Warning
		if outcome == codec.OutcomeUndecodable || outcome == codec.OutcomeMisrouted || outcome == codec.OutcomeTooLarge {
			severity = Error
		}
		found = append(found, finding(CheckRejected, severity, rejectedRemedies[outcome],
			"%d events were rejected lately with %s; the last is %s/%s: %s", r.Count, outcome, r.Partition, r.Offset, r.Reason)...)
	}
	return found
}

const retryRemedy = "Retries of brokers leave some. If there are many, look at the segment's history with rlmm segment, and find out who else writes to the topic."

var rejectedRemedies = map[codec.Outcome]string{
	codec.OutcomeInvalidAdd:                       retryRemedy,
	codec.OutcomeSegmentNotFound:                  "A segment's add is missing, or came later. See rlmm orphans for deletions of unknown segments.",
	codec.OutcomeInvalidSegmentTransition:         retryRemedy,
	codec.OutcomeInvalidPartitionDeleteTransition: retryRemedy,
	codec.OutcomeUndecodable:                      "Something else writes to the metadata topic, or a newer Kafka with another format: rlmm dump --partition P --from-offset N shows it. Take away others' right to write.",
	codec.OutcomeNullValue:                        "Something else writes to the metadata topic; take away its right to write.",
	codec.OutcomeMisrouted:                        "A writer uses another partition count or partitioner: compare remote.log.metadata.topic.num.partitions of all brokers with the topic.",
	codec.OutcomeTooLarge:                         "Raise max.message.bytes of the table, and have the event published again.",
}

// right is one that some part of rlmm needs.
type right struct {
	operation sarama.AclOperation
	who       string
}

const (
	forAll     = "servers and processors need it"
	forFleet   = "processors need it"
	forWriters = "servers that allow mutations, import and repair need it"
)

func (j judge) rights() []Finding {
	found := lacking(j.Metadata, right{sarama.AclOperationRead, forAll}, right{sarama.AclOperationDescribeConfigs, forFleet}, right{sarama.AclOperationWrite, forWriters})
	found = append(found, lacking(j.Table, right{sarama.AclOperationRead, forAll}, right{sarama.AclOperationDescribeConfigs, forAll}, right{sarama.AclOperationWrite, forFleet})...)
	found = append(found, lacking(j.Rejected, right{sarama.AclOperationWrite, forFleet}, right{sarama.AclOperationDescribeConfigs, forFleet})...)
	if j.GroupDenied == nil && j.Group.Rights.Lacks(sarama.AclOperationRead) {
		found = append(found, missing(&kafka.DeniedError{Operation: "Read", On: kafka.OnGroup(j.want.Group), Err: sarama.ErrGroupAuthorizationFailed}, forFleet)...)
	}
	for _, err := range slices.Concat([]error{j.Metadata.Denied, j.Table.Denied, j.Rejected.Denied, j.GroupDenied}, j.Denied) {
		found = append(found, missing(err, forAll)...)
	}
	return found
}

func lacking(t Topic, needed ...right) (found []Finding) {
	for _, r := range needed {
		if t.isThere() && t.Rights.Lacks(r.operation) {
			found = append(found, missing(&kafka.DeniedError{
				Operation: r.operation.String(), On: kafka.OnTopic(t.Name), Err: sarama.ErrTopicAuthorizationFailed,
			}, r.who)...)
		}
	}
	return found
}

// missing is a refusal as a finding; nil is none.
func missing(err error, who string) []Finding {
	denied, ok := errors.AsType[*kafka.DeniedError](err)
	if !ok {
		return nil
	}
	return finding(CheckRights, Warning, "Grant it: "+denied.Grant(), "%s; %s", denied.What(), who)
}
