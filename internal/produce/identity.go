package produce

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/IBM/sarama"
)

// identity is what a broker knows a producer by. Sequences begin anew with each.
type identity struct {
	id    int64
	epoch int16
}

// next is the identity that fences this one, false when the epochs of the id are used up.
// A broker takes the next epoch unasked, if its first sequence is 0 (KIP-360): asked for
// one, it would hand out another id to a producer without a transactional id, and a batch
// of before that is still on its way wouldn't be refused.
func (i identity) next() (identity, bool) {
	if i.epoch == math.MaxInt16 {
		return identity{}, false
	}
	return identity{i.id, i.epoch + 1}, true
}

// NextSequence is the sequence after n more records; Kafka's wraps to 0 behind the
// greatest int32.
func NextSequence(seq int32, n int) int32 { return int32((int64(seq) + int64(n)) & math.MaxInt32) }

// identities hold the producer's own.
type identities struct {
	ask     func() (identity, error) // for a new id
	current atomic.Pointer[identity]
	mu      sync.Mutex // for one replacement at a time
}

func (i *identities) get() identity { return *i.current.Load() }

// replace makes another identity the current one, if the lost one still is. Its id is
// another one too when all of it is lost.
func (i *identities) replace(lost identity, all bool) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.get() != lost {
		return nil
	}
	next, ok := lost.next()
	if all || !ok {
		var err error
		if next, err = i.ask(); err != nil {
			return err
		}
	}
	i.current.Store(&next)
	return nil
}

// askIdentity asks a broker for a new id.
func askIdentity(client sarama.Client) (identity, error) {
	broker := client.LeastLoadedBroker()
	if broker == nil {
		return identity{}, sarama.ErrOutOfBrokers
	}
	resp, err := broker.InitProducerID(&sarama.InitProducerIDRequest{Version: 3, ProducerID: -1, ProducerEpoch: -1})
	switch {
	case err != nil:
		_ = broker.Close() // a broken connection; the next try opens another
		return identity{}, err
	case resp.Err != sarama.ErrNoError:
		return identity{}, resp.Err
	}
	return identity{resp.ProducerID, resp.ProducerEpoch}, nil
}
