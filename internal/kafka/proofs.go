package kafka

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/tieredlog/rlmm/api"
)

// proofAge is how long a proof tells who leads. About as long waits what is verified behind
// a request that is under way.
const proofAge = 20 * time.Millisecond

// Proofs proves of which topic the records are that a client fetches, without a round trip:
// its connections ask for the topic right behind each fetch, in one write (see provingConn).
//
// A broker takes the requests of a connection one after the other, the next one when the
// answer to the one before is sent. So it looks at the topic after it has read the records.
// It knows of a new topic before it serves its records, and a topic id never comes back: a
// look that finds the id proves that all that this broker has answered until then is of
// that topic. A fetch's last byte is held until the answer to the look is there, so the
// client has no record whose proof is under way, whichever broker leads by then and
// whatever becomes of the connection.
//
// A look that finds another id is never forgotten. One that finds nothing (an error, a broker
// that throttles) is counted before the client has the records: from then on each
// partition's leader is asked, until it was once since.
type Proofs struct {
	topic string
	id    api.UUID
	dials *Dials
	look  []byte // the request

	mu sync.Mutex
	// live has the last proof of each connection that there is, nil for none.
	live map[*provingConn]*proof
	// other is the topic with another id that was found.
	other *Topic
	// unproven counts the fetches that were answered without a proof, settled has how many
	// there were when a partition's leader was last asked.
	unproven int64
	settled  map[int32]int64
}

// NewProofs makes the client that gets the config prove that the topic, of which alone it
// fetches, is the one with the id.
func NewProofs(c *sarama.Config, topic string, id api.UUID) *Proofs {
	p := &Proofs{
		topic: topic, id: id, dials: NewDials(c), look: lookAt(topic, c.ClientID),
		live: map[*provingConn]*proof{}, settled: map[int32]int64{},
	}
	c.Net.Proxy.Dialer = p
	return p
}

// Dial is of golang.org/x/net/proxy.Dialer.
func (p *Proofs) Dial(network, addr string) (net.Conn, error) {
	conn, err := p.dials.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	c := newProvingConn(conn, addr, p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[c] = nil
	return c, nil
}

// TopicAtLeaders returns what the leaders of the partitions say of the topic, as
// [Cluster.TopicAtLeaders] does, and what that says of the records that the client has: it
// asks only where the proofs don't tell. What is anew was kept back since its
// records were fetched, so that their proof is old, and the leaders are asked. dials counts
// the client's connections ([Dials.Count]) before the leaders were looked at.
func (p *Proofs) TopicAtLeaders(ctx context.Context, c *Cluster, partitions []int32, anew bool) (topics []Topic, dials int64, err error) {
	dials = p.dials.Count()
	topics, unproven := p.told(partitions, dials, anew)
	if topics != nil {
		return topics, dials, nil
	}
	topics, err = c.TopicAtLeaders(ctx, p.topic, partitions)
	if err == nil {
		p.settle(partitions, unproven)
	}
	return topics, dials, err
}

// told returns what brokers have said that hear the client still, all the partitions' leaders
// among them; nil when that doesn't do. Then unproven is what the leaders settle.
func (p *Proofs) told(partitions []int32, dials int64, anew bool) (topics []Topic, unproven int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.other != nil {
		return []Topic{*p.other}, p.unproven
	}
	if anew {
		return nil, p.unproven
	}
	proofs := p.fresh(dials)
	for _, partition := range partitions {
		if p.settled[partition] != p.unproven || !isLedByOne(proofs, partition) {
			return nil, p.unproven
		}
	}
	for _, f := range proofs {
		topics = append(topics, f.topic)
	}
	return topics, p.unproven
}

// fresh returns the proofs that tell who leads now: that are young, with no connection made
// since, for then a broker may have been restarted. p.mu is held.
func (p *Proofs) fresh(dials int64) (proofs []*proof) {
	for _, f := range p.live {
		if f != nil && f.dials == dials && time.Since(f.at) <= proofAge {
			proofs = append(proofs, f)
		}
	}
	return proofs
}

func (p *Proofs) settle(partitions []int32, unproven int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, partition := range partitions {
		p.settled[partition] = max(p.settled[partition], unproven)
	}
}

// add takes in what a look behind the connection's last fetch has found, nil for nothing.
func (p *Proofs) add(c *provingConn, found *proof) {
	dials := p.dials.Count()
	p.mu.Lock()
	defer p.mu.Unlock()
	_, live := p.live[c]
	if live {
		p.live[c] = found
	}
	switch {
	case found == nil:
		p.unproven++
	case found.topic.ID != p.id:
		p.other = &found.topic
	default:
		found.at, found.dials = time.Now(), dials
	}
}

// addLate takes in what a look has found after the client got the records: they aren't proven.
func (p *Proofs) addLate(found *proof) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found.topic.ID != p.id {
		p.other = &found.topic
	}
}

// forget forgets a connection that has ended.
func (p *Proofs) forget(c *provingConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, c)
}
