package kafkatest

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// SecureListener is the name of the listener of [WithTLS] and [WithSCRAM].
const SecureListener = "SECURE"

// WithTLS gives the broker a listener for clients with a certificate (SSL): its own
// certificate and key lie in the first file, the authorities of clients' in the second,
// both PEM. Clients are User:CN=NAME there.
func WithTLS(own, clients string) Option {
	return func(o *options) {
		o.secure("SSL", own)
		o.properties["listener.name.secure.ssl.client.auth"] = "required"
		o.properties["listener.name.secure.ssl.truststore.type"] = "PEM"
		o.properties["listener.name.secure.ssl.truststore.location"] = clients
	}
}

// WithSCRAM gives the broker a listener for users of [SetPassword] over TLS (SASL_SSL,
// SCRAM-SHA-512): its certificate and key lie in the file, PEM.
func WithSCRAM(own string) Option {
	return func(o *options) {
		o.secure("SASL_SSL", own)
		o.properties["listener.name.secure.sasl.enabled.mechanisms"] = "SCRAM-SHA-512"
		o.properties["listener.name.secure.scram-sha-512.sasl.jaas.config"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	}
}

func (o *options) secure(protocol, own string) {
	o.direct = append(o.direct, SecureListener)
	o.protocols[SecureListener] = protocol
	o.properties["listener.name.secure.ssl.keystore.type"] = "PEM"
	o.properties["listener.name.secure.ssl.keystore.location"] = own
}

// SetPassword gives a user of SCRAM-SHA-512 a password; one that it had is good no more.
// Connections that are open stay so.
func (b *Broker) SetPassword(tb testing.TB, user, password string) {
	tb.Helper()
	withClient(tb, b.Bootstrap(), func(ctx context.Context, client *kgo.Client) error {
		set := kadm.UpsertSCRAM{User: user, Mechanism: kadm.ScramSha512, Iterations: 4096, Password: password}
		done, err := kadm.NewClient(client).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{set})
		if err == nil {
			err = done.Error()
		}
		return err
	})
}

// Logged counts the lines of the broker's log so far that have the text.
func (b *Broker) Logged(tb testing.TB, text string) (lines int) {
	tb.Helper()
	content, err := os.ReadFile(b.logFile())
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, text) {
			lines++
		}
	}
	return lines
}
