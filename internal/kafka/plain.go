package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxLoginAnswer bounds the answer to a log-in, in bytes.
const maxLoginAnswer = 64 << 10

// plainLogin logs in by PLAIN (RFC 4616) on a new connection. sarama would send the
// password that it was given when the client was made; this one is read for each
// connection. A broker that ends sessions (connections.max.reauth.ms, KIP-368) cuts such a
// connection then, and another is made.
type plainLogin struct {
	sasl     SASL
	clientID string
	timeout  time.Duration
	gate     *loginGate
}

// on logs in. A refusal is sarama's ErrSASLAuthenticationFailed, with what the broker says.
func (l plainLogin) on(conn net.Conn) error {
	user, password, err := l.sasl.login()
	if err != nil {
		return err
	}
	if err := l.gate.begin(user, password); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Now().Add(l.timeout)); err != nil {
		return err
	}
	if err := l.exchange(conn, user, password); err != nil {
		return err
	}
	l.gate.succeeded()
	return conn.SetDeadline(time.Time{})
}

func (l plainLogin) exchange(conn net.Conn, user, password string) error {
	handshake := &kmsg.SASLHandshakeRequest{Version: 1, Mechanism: sarama.SASLTypePlaintext}
	agreed := handshake.ResponseKind().(*kmsg.SASLHandshakeResponse)
	if err := l.ask(conn, handshake, agreed); err != nil {
		return err
	}
	if err := refused(agreed.ErrorCode, nil); err != nil {
		return err
	}
	authenticate := &kmsg.SASLAuthenticateRequest{Version: 1, SASLAuthBytes: []byte("\x00" + user + "\x00" + password)}
	answer := authenticate.ResponseKind().(*kmsg.SASLAuthenticateResponse)
	if err := l.ask(conn, authenticate, answer); err != nil {
		return err
	}
	return refused(answer.ErrorCode, answer.ErrorMessage)
}

func refused(code int16, message *string) error {
	switch {
	case code == 0:
		return nil
	case message == nil:
		return sarama.KError(code)
	}
	return sarama.Wrap(sarama.KError(code), errors.New(*message))
}

// ask sends one request and reads its answer.
func (l plainLogin) ask(conn net.Conn, r kmsg.Request, answer kmsg.Response) error {
	request := kmsg.NewRequestFormatter(kmsg.FormatterClientID(l.clientID)).AppendRequest(nil, r, 0)
	if _, err := conn.Write(request); err != nil {
		return err
	}
	var head [8]byte // size, correlation id
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size < 4 || size > maxLoginAnswer {
		return fmt.Errorf("an answer of %d bytes to a log-in", size)
	}
	body := make([]byte, size-4)
	if _, err := io.ReadFull(conn, body); err != nil {
		return err
	}
	return answer.ReadFrom(body)
}
