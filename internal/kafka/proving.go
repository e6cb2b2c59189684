package kafka

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
)

// errInPieces ends a connection: what isn't a whole request could hide a fetch. sarama
// writes each in one go.
var errInPieces = errors.New("a request is written in pieces")

// provingConn writes a look behind each fetch, and takes the answer out of what is read,
// in which the client finds what it asked for and nothing else. A fetch's last byte comes
// after the look behind it was taken in.
type provingConn struct {
	net.Conn
	addr   string
	proofs *Proofs

	writing sync.Mutex
	out     []byte // of the last fetch, whose memory is used again

	mu  sync.Mutex
	due []look // whose answers aren't taken in, in the order of the requests

	// The reader's: one goroutine at a time.
	in    *bufio.Reader
	left  int   // bytes of an answer of the client's that it hasn't got
	holds bool  // the last of them for the look behind it
	err   error // the first one: what comes after it isn't understood
}

func newProvingConn(conn net.Conn, addr string, p *Proofs) *provingConn {
	return &provingConn{Conn: conn, addr: addr, proofs: p, in: bufio.NewReader(conn)}
}

// Write writes a request, and behind a fetch a look.
func (c *provingConn) Write(request []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if !isWhole(request) {
		return 0, fmt.Errorf("%d bytes to %s: %w", len(request), c.addr, errInPieces)
	}
	behind, ok := lookBehind(request)
	if !ok {
		return c.Conn.Write(request)
	}
	c.expect(behind) // before it can be answered
	c.out = numbered(append(c.out[:0], request...), c.proofs.look, behind.id)
	n, err := c.Conn.Write(c.out)
	return min(n, len(request)), err
}

// Read reads the answers to the client's own requests.
func (c *provingConn) Read(b []byte) (n int, err error) {
	if c.err == nil && len(b) > 0 {
		n, c.err = c.read(b)
	}
	if c.err != nil {
		c.proofs.forget(c)
	}
	return n, c.err
}

// Close closes the connection.
func (c *provingConn) Close() error {
	c.proofs.forget(c)
	return c.Conn.Close()
}

// expect adds a look.
func (c *provingConn) expect(l look) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = append(c.due, l)
}

// next is the look that is due first, and whether there is one.
func (c *provingConn) next() (look, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.due) == 0 {
		return look{}, false
	}
	return c.due[0], true
}

// passing marks that the client gets the answer to the first look's fetch.
func (c *provingConn) passing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due[0].passed = true
}

// taken drops the first look.
func (c *provingConn) taken() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = c.due[1:]
}
