package tlsconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"github.com/youmark/pkcs8"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/tieredlog/rlmm/internal/secret"
)

// TrustStore is the authorities to trust.
type TrustStore struct {
	// Location is a file (ssl.truststore.location), Password what opens it.
	Location string
	Password secret.Value
	// Certificates is PEM text, in place of a file.
	Certificates secret.Value
}

// KeyStore is a certificate and its key.
type KeyStore struct {
	// Location is a file (ssl.keystore.location), Password what opens it.
	Location string
	Password secret.Value
	// Chain and Key are PEM text, in place of a file.
	Chain, Key secret.Value
	// KeyPassword opens the key itself; the store's password when there is none.
	KeyPassword secret.Value
}

// Pool reads the authorities, nil for the system's.
func (s TrustStore) Pool() (*x509.CertPool, error) {
	var found []*x509.Certificate
	var err error
	switch {
	case s.Location != "":
		found, err = s.load()
		err = naming("ssl.truststore.location "+s.Location, err)
	case !s.Certificates.IsZero():
		found, err = secret.Parse(s.Certificates, pemCertificates)
		err = naming("ssl.truststore.certificates", err)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range found {
		pool.AddCert(c)
	}
	return pool, nil
}

func (s TrustStore) load() ([]*x509.Certificate, error) {
	content, password, err := open(s.Location, s.Password)
	if err != nil {
		return nil, err
	}
	switch formOf(content) {
	case formJKS:
		return jksCertificates(content, password)
	case formPEM:
		return pemCertificates(string(content))
	}
	return pkcs12.DecodeTrustStore(content, password)
}

// Certificate reads the certificate, nil when there is none. One that has expired is an
// error: peers say of it only that it is bad.
func (s KeyStore) Certificate() (c *tls.Certificate, err error) {
	name := "ssl.keystore.certificate.chain"
	switch {
	case s.Location != "":
		name = "ssl.keystore.location " + s.Location
		c, err = s.load()
	case !s.Chain.IsZero():
		c, err = s.pair()
	case !s.Key.IsZero():
		err = errors.New("is needed beside ssl.keystore.key")
	default:
		return nil, nil
	}
	if err == nil {
		err = expired(c)
	}
	return c, naming(name, err)
}

func expired(c *tls.Certificate) error {
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return err
	}
	if now := time.Now(); now.After(leaf.NotAfter) {
		return fmt.Errorf("the certificate of %s expired at %s", leaf.Subject, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

func (s KeyStore) load() (*tls.Certificate, error) {
	content, password, err := open(s.Location, s.Password)
	if err != nil {
		return nil, err
	}
	keyPassword, err := s.KeyPassword.Reveal()
	if err != nil {
		return nil, err
	}
	if keyPassword == "" {
		keyPassword = password
	}
	switch formOf(content) {
	case formJKS:
		return jksPair(content, password, keyPassword)
	case formPEM:
		return pemPair(string(content), string(content), keyPassword)
	}
	return pkcs12Pair(content, password)
}

func (s KeyStore) pair() (*tls.Certificate, error) {
	chain, err := s.Chain.Reveal()
	if err != nil {
		return nil, err
	}
	key, err := s.Key.Reveal()
	if err != nil {
		return nil, err
	}
	password, err := s.KeyPassword.Reveal()
	if err != nil {
		return nil, err
	}
	return pemPair(chain, key, password)
}

func open(location string, password secret.Value) ([]byte, string, error) {
	content, err := os.ReadFile(location)
	if err != nil {
		return nil, "", errors.Unwrap(err) // the location is named already
	}
	text, err := password.Reveal()
	return content, text, err
}

func naming(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// form is how a store is written.
type form uint8

const (
	formPKCS12 form = iota
	formJKS
	formPEM
)

// formOf tells by the content, as Java does for its two formats.
func formOf(content []byte) form {
	switch {
	case bytes.HasPrefix(content, []byte{0xFE, 0xED, 0xFE, 0xED}):
		return formJKS
	case bytes.Contains(content, []byte("-----BEGIN ")):
		return formPEM
	}
	return formPKCS12
}

// pemBlock finds blocks whatever white space there is: in a properties file PEM is often
// on one line (Kafka's DefaultSslEngineFactory takes that too).
var pemBlock = regexp.MustCompile(`(?s)-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END ([A-Z0-9 ]+)-----`)

func pemBlocks(text string) ([]*pem.Block, error) {
	var blocks []*pem.Block
	for _, m := range pemBlock.FindAllStringSubmatch(text, -1) {
		body, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(m[2]), ""))
		if err != nil || m[1] != m[3] {
			return nil, fmt.Errorf("a PEM block %s can't be read", m[1])
		}
		blocks = append(blocks, &pem.Block{Type: m[1], Bytes: body})
	}
	return blocks, nil
}

func pemCertificates(text string) ([]*x509.Certificate, error) {
	blocks, err := pemBlocks(text)
	if err != nil {
		return nil, err
	}
	var found []*x509.Certificate
	for _, b := range blocks {
		if b.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return nil, errors.New("no certificate in the PEM")
	}
	return found, nil
}

func pemPair(chain, key, password string) (*tls.Certificate, error) {
	certificates, err := pemBlocks(chain)
	if err != nil {
		return nil, err
	}
	keys, err := pemBlocks(key)
	if err != nil {
		return nil, err
	}
	var certPEM, keyPEM []byte
	for _, b := range certificates {
		if b.Type == "CERTIFICATE" {
			certPEM = append(certPEM, pem.EncodeToMemory(b)...)
		}
	}
	for _, b := range keys {
		if strings.HasSuffix(b.Type, "PRIVATE KEY") {
			if b, err = decrypted(b, password); err != nil {
				return nil, err
			}
			keyPEM = append(keyPEM, pem.EncodeToMemory(b)...)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	return &pair, err
}

// decrypted is the key without its password.
func decrypted(b *pem.Block, password string) (*pem.Block, error) {
	if b.Type != "ENCRYPTED PRIVATE KEY" {
		return b, nil
	}
	if password == "" {
		return nil, errors.New("the key is encrypted; ssl.key.password is needed")
	}
	key, err := pkcs8.ParsePKCS8PrivateKey(b.Bytes, []byte(password))
	if err != nil {
		return nil, fmt.Errorf("open the key with ssl.key.password: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return &pem.Block{Type: "PRIVATE KEY", Bytes: der}, err
}

func pkcs12Pair(content []byte, password string) (*tls.Certificate, error) {
	key, leaf, authorities, err := pkcs12.DecodeChain(content, password)
	if err != nil {
		return nil, err
	}
	pair := &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
	for _, c := range authorities {
		pair.Certificate = append(pair.Certificate, c.Raw)
	}
	return pair, nil
}

func loadJKS(content []byte, password string) (keystore.KeyStore, error) {
	ks := keystore.New(keystore.WithOrderedAliases())
	return ks, ks.Load(bytes.NewReader(content), []byte(password))
}

func jksCertificates(content []byte, password string) ([]*x509.Certificate, error) {
	ks, err := loadJKS(content, password)
	if err != nil {
		return nil, err
	}
	var found []*x509.Certificate
	for _, alias := range ks.Aliases() {
		if !ks.IsTrustedCertificateEntry(alias) {
			continue
		}
		entry, err := ks.GetTrustedCertificateEntry(alias)
		if err != nil {
			return nil, err
		}
		c, err := x509.ParseCertificate(entry.Certificate.Content)
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", alias, err)
		}
		found = append(found, c)
	}
	if len(found) == 0 {
		return nil, errors.New("no trusted certificate in the store")
	}
	return found, nil
}

// jksPair takes the first key of the store, by alias.
func jksPair(content []byte, password, keyPassword string) (*tls.Certificate, error) {
	ks, err := loadJKS(content, password)
	if err != nil {
		return nil, err
	}
	for _, alias := range ks.Aliases() {
		if !ks.IsPrivateKeyEntry(alias) {
			continue
		}
		entry, err := ks.GetPrivateKeyEntry(alias, []byte(keyPassword))
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", alias, err)
		}
		key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", alias, err)
		}
		pair := &tls.Certificate{PrivateKey: key}
		for _, c := range entry.CertificateChain {
			pair.Certificate = append(pair.Certificate, c.Content)
		}
		return pair, nil
	}
	return nil, errors.New("no private key in the store")
}
