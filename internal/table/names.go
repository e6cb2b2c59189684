package table

import "fmt"

// RejectedOf is the topic of a processor fleet's rejected events.
func RejectedOf(group string) string { return group + "-rejected" }

// CheckNames returns an error when the metadata topic is one of those that the group
// writes: a fleet would read what it has written itself.
func CheckNames(metadataTopic, group string) error {
	if metadataTopic == TopicOf(group) || metadataTopic == RejectedOf(group) {
		return fmt.Errorf("metadata topic: %s is a topic that group %s writes; take another topic or another group", metadataTopic, group)
	}
	return nil
}
