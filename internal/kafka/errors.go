package kafka

import (
	"errors"
	"slices"

	"github.com/IBM/sarama"
)

// fatalCodes are the answers of a broker that no retry mends: someone must change
// rights or settings first.
var fatalCodes = []sarama.KError{
	sarama.ErrTopicAuthorizationFailed, sarama.ErrGroupAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
	sarama.ErrTransactionalIDAuthorizationFailed, sarama.ErrSASLAuthenticationFailed,
	sarama.ErrInvalidReplicationFactor, sarama.ErrInvalidPartitions, sarama.ErrPolicyViolation,
}

// IsFatal tells whether an error is one that retrying can't mend: a right that is
// missing, a topic that doesn't fit.
func IsFatal(err error) bool {
	var code sarama.KError
	if errors.As(err, &code) && slices.Contains(fatalCodes, code) {
		return true
	}
	var mismatch *MismatchError
	return errors.As(err, &mismatch)
}
