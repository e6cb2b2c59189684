package source

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/rest"
)

// ParseTopic reads TOPIC or TOPIC-P, where TOPIC is a name or an id. A text that can be
// both chooses both: orders-1 is a topic of that name, and partition 1 of orders.
func ParseTopic(text string) (Selector, error) {
	if text == "" {
		return nil, badPartition(text)
	}
	selected := Selector{{Topic: text}}
	if one, err := ParsePartition(text); err == nil {
		selected = append(selected, one...)
	}
	return selected, nil
}

// ParsePartition reads TOPIC-P or TOPIC:P, where TOPIC is a name or an id. Any other text
// is an [api.InvalidArgumentError].
func ParsePartition(text string) (Selector, error) {
	at := strings.LastIndexAny(text, "-:")
	if at < 1 {
		return nil, badPartition(text)
	}
	n, err := strconv.ParseUint(text[at+1:], 10, 31)
	if err != nil || strconv.FormatUint(n, 10) != text[at+1:] {
		return nil, badPartition(text)
	}
	partition := int32(n)
	return Selector{rest.RowFilter{Topic: text[:at], Partition: &partition}}, nil
}

func badPartition(text string) error {
	return &api.InvalidArgumentError{
		Field:  "partition",
		Reason: fmt.Sprintf("%.80q is not TOPIC-P: a topic's name or id, a dash and a partition", text),
	}
}
