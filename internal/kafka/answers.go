package kafka

import (
	"encoding/binary"
	"fmt"
	"io"
)

// answerHead is the least that an answer has, in bytes: its size and correlation id.
const answerHead = 8

// maxProof bounds the answer to a look, in bytes: the brokers, and the partitions of one topic.
const maxProof = 64 << 20

// read is Read until the first error.
func (c *provingConn) read(b []byte) (int, error) {
	if c.left == 0 {
		if err := c.begin(); err != nil {
			return 0, err
		}
	}
	switch {
	case !c.holds:
		return c.pass(b[:min(len(b), c.left)])
	case c.left > 1:
		return c.pass(b[:min(len(b), c.left-1)])
	}
	return c.passLast(b)
}

func (c *provingConn) pass(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.left -= n
	return n, err
}

// passLast passes a fetch's last byte on once the look behind it is answered.
func (c *provingConn) passLast(b []byte) (int, error) {
	last, err := c.in.ReadByte()
	if err != nil {
		return 0, err
	}
	next, _ := c.next()
	found, err := c.takeIn(next)
	if err != nil {
		return 0, err
	}
	c.proofs.add(c, found)
	b[0], c.left, c.holds = last, 0, false
	return 1, nil
}

// begin begins the next answer that is the client's own.
func (c *provingConn) begin() error {
	for {
		size, id, err := c.head()
		if err != nil {
			return err
		}
		next, ok := c.next()
		if ok && next.passed {
			if err := c.takeInLate(next); err != nil {
				return err
			}
			continue
		}
		c.left = answerHead - 4 + size
		if ok && id == next.fetch {
			return c.beginFetch(next, size)
		}
		return nil
	}
}

// beginFetch decides whether the answer to a fetch is held. A broker that throttles the
// client sends no records with it, and answers the next request seconds later.
func (c *provingConn) beginFetch(l look, size int) error {
	throttle, err := c.throttle(l, size)
	if err != nil {
		return err
	}
	c.passing()
	if c.holds = throttle == 0; !c.holds {
		c.proofs.add(c, nil)
	}
	return nil
}

// throttle is the fetch's throttle_time_ms, the first of its body; −1 when it isn't found.
func (c *provingConn) throttle(l look, size int) (int32, error) {
	at := answerHead
	if l.flexible {
		at++ // the number of tags
	}
	if size+4 < at+4 {
		return -1, nil
	}
	head, err := c.in.Peek(at + 4)
	if err != nil {
		return 0, err
	}
	if l.flexible && head[answerHead] != 0 {
		return -1, nil // Kafka knows none
	}
	return int32(binary.BigEndian.Uint32(head[at:])), nil
}

// head looks at the next answer: the size is of what follows it.
func (c *provingConn) head() (size int, id int32, err error) {
	head, err := c.in.Peek(answerHead)
	if err != nil {
		return 0, 0, err
	}
	size = int(int32(binary.BigEndian.Uint32(head)))
	if size < answerHead-4 {
		return 0, 0, fmt.Errorf("%s sends an answer of %d bytes", c.addr, size)
	}
	return size, int32(binary.BigEndian.Uint32(head[4:])), nil
}

// takeInLate takes in a look that no fetch was held for. Nobody knows when it was made, so
// it doesn't tell who leads.
func (c *provingConn) takeInLate(l look) error {
	found, err := c.takeIn(l)
	if found != nil {
		c.proofs.addLate(found)
	}
	return err
}

// takeIn takes the answer to a look out, which must be the next one: brokers answer in order.
func (c *provingConn) takeIn(l look) (*proof, error) {
	size, id, err := c.head()
	switch {
	case err != nil:
		return nil, err
	case id != l.id || size > maxProof:
		return nil, fmt.Errorf("%s answers request %d in %d bytes where request %d is due", c.addr, id, size, l.id)
	}
	answer := make([]byte, 4+size)
	if _, err := io.ReadFull(c.in, answer); err != nil {
		return nil, err
	}
	c.taken()
	return proofIn(answer[answerHead:], c.proofs.topic, c.addr), nil
}
