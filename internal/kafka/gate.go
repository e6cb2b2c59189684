package kafka

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// A client may begin freeLogins log-ins in a row without one that is let in: it has
// connections to several brokers, which begin together. Then it waits between two, twice
// as long each time.
const (
	freeLogins      = 8
	leastLoginPause = time.Second
	mostLoginPause  = 10 * time.Second
)

// loginGate keeps a client whose login is refused from a storm of tries: sarama tries again
// for each partition that it consumes. Another login, as when its file is mended, is tried
// at once.
type loginGate struct {
	mu     sync.Mutex
	login  [sha256.Size]byte
	vain   int       // log-ins begun since the last that was let in
	latest time.Time // when the last one began
}

// begin asks to log in now. The error is a refusal, as the brokers' own.
func (g *loginGate) begin(user, password string) error {
	login := sha256.Sum256([]byte(user + "\x00" + password))
	g.mu.Lock()
	defer g.mu.Unlock()
	if login != g.login {
		g.login, g.vain = login, 0
	}
	if wait := time.Until(g.latest.Add(g.pause())); wait > 0 {
		return sarama.Wrap(sarama.ErrSASLAuthenticationFailed,
			fmt.Errorf("the brokers let %s in by none of %d log-ins, trying again in %v", user, g.vain, wait.Round(time.Millisecond)))
	}
	g.vain, g.latest = g.vain+1, time.Now()
	return nil
}

func (g *loginGate) pause() time.Duration {
	if g.vain < freeLogins {
		return 0
	}
	return min(leastLoginPause<<min(g.vain-freeLogins, 10), mostLoginPause)
}

// succeeded tells that the brokers let the login in.
func (g *loginGate) succeeded() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.vain = 0
}
