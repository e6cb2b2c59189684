package kafka

import (
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

// Resource is what a right is on.
type Resource struct {
	kind, name string
	flag       string // of Kafka's kafka-acls.sh
	code       sarama.KError
}

// OnTopic is a topic.
func OnTopic(name string) Resource {
	return Resource{"topic", name, "--topic " + name, sarama.ErrTopicAuthorizationFailed}
}

// OnGroup is a consumer group.
func OnGroup(name string) Resource {
	return Resource{"group", name, "--group " + name, sarama.ErrGroupAuthorizationFailed}
}

// OnTransactionalID is a transactional id, one of several that begin with the prefix.
func OnTransactionalID(id, prefix string) Resource {
	flag := "--transactional-id " + prefix + " --resource-pattern-type prefixed"
	return Resource{"transactional id", id, flag, sarama.ErrTransactionalIDAuthorizationFailed}
}

// OnCluster is the cluster itself.
func OnCluster() Resource {
	return Resource{"cluster", "kafka-cluster", "--cluster", sarama.ErrClusterAuthorizationFailed}
}

// DeniedError says that this client's principal lacks a right.
type DeniedError struct {
	// Operation is Kafka's name of it, Write for one.
	Operation string
	On        Resource
	Err       error
}

// Error names the right and how to grant it.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s; grant it: %s: %v", e.What(), e.Grant(), e.Err)
}

// What names the right.
func (e *DeniedError) What() string {
	return fmt.Sprintf("%s on %s %s is denied to this client", e.Operation, e.On.kind, e.On.name)
}

// Grant is the command that grants it.
func (e *DeniedError) Grant() string {
	return fmt.Sprintf("kafka-acls.sh --add --allow-principal User:NAME --operation %s %s", e.Operation, e.On.flag)
}

// Unwrap returns the broker's answer.
func (e *DeniedError) Unwrap() error { return e.Err }

// Unhealable marks the error.
func (*DeniedError) Unhealable() {}

// Denied makes a broker's refusal of an operation on a resource an error that names
// both. Other errors, nil among them, and those that are named already stay as they are.
func Denied(err error, operation string, on Resource) error {
	if !errors.Is(err, on.code) || IsDenied(err) {
		return err
	}
	return &DeniedError{Operation: operation, On: on, Err: err}
}

// IsDenied tells whether a right is missing. It may be granted while we wait.
func IsDenied(err error) bool {
	_, ok := errors.AsType[*DeniedError](err)
	return ok
}
