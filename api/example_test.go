package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tieredlog/rlmm/api"
	"github.com/tieredlog/rlmm/api/apitest"
)

// A mutation whose answer is lost is tried again, with the same segment id. An earlier
// try that is in is as good as success.
func ExampleInvalidAddError_AlreadyAdded() {
	m := apitest.NewManager()
	orders := api.TopicIdPartition{TopicID: api.UUIDFromBits(1, 1), Topic: "orders"}
	segment := api.RemoteLogSegmentMetadata{
		ID:        api.RemoteLogSegmentID{TopicIdPartition: orders, ID: api.RandomUUID()},
		EndOffset: 99, LeaderEpochs: api.NewLeaderEpochs(api.EpochOffset{}),
	}
	m.LoseAnswers(io.ErrUnexpectedEOF)
	_, err := m.AddRemoteLogSegmentMetadata(context.Background(), segment)
	fmt.Println(err, errors.Is(err, api.ErrUnacknowledged))

	m.LoseAnswers(nil)
	_, err = m.AddRemoteLogSegmentMetadata(context.Background(), segment)
	if known, ok := errors.AsType[*api.InvalidAddError](err); ok && known.AlreadyAdded(segment) {
		err = nil
	}
	fmt.Println(err)
	// Output:
	// publish the event: may or may not be published: unexpected EOF true
	// <nil>
}
