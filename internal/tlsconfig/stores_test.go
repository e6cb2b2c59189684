package tlsconfig

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tieredlog/rlmm/internal/pkitest"
	"github.com/tieredlog/rlmm/internal/secret"
)

// What Java and OpenSSL wrote is read; testdata/README.md says how.
func TestStoresOfJavaAreRead(t *testing.T) {
	right, wrong := secret.Text("changeit"), secret.Text("changed")
	for _, name := range []string{"key.pkcs12", "key.jks"} {
		path := filepath.Join("testdata", name)
		c, err := KeyStore{Location: path, Password: right}.Certificate()
		noError(t, err)
		leaf, err := x509.ParseCertificate(c.Certificate[0])
		noError(t, err)
		wantSame(t, name, "CN=keytool", leaf.Subject.String())
		_, err = KeyStore{Location: path, Password: wrong}.Certificate()
		wantRefused(t, err, "ssl.keystore.location "+path)
	}
	for _, name := range []string{"trust.pkcs12", "trust.jks", "encrypted.pem"} {
		path := filepath.Join("testdata", name)
		pool, err := TrustStore{Location: path, Password: right}.Pool()
		noError(t, err)
		if pool.Equal(x509.NewCertPool()) {
			t.Errorf("%s holds no authority", name)
		}
		if strings.HasPrefix(name, "trust") {
			_, err = TrustStore{Location: path, Password: wrong}.Pool()
			wantRefused(t, err, "ssl.truststore.location "+path)
		}
	}
	_, err := TrustStore{Location: "testdata/key.jks", Password: right}.Pool()
	wantRefused(t, err, "no trusted certificate")
	_, err = KeyStore{Location: "testdata/trust.jks", Password: right}.Certificate()
	wantRefused(t, err, "no private key")
}

func TestAnEncryptedKeyNeedsItsPassword(t *testing.T) {
	const path = "testdata/encrypted.pem"
	_, err := KeyStore{Location: path, KeyPassword: secret.Text("changeit")}.Certificate()
	noError(t, err)
	_, err = KeyStore{Location: path, Password: secret.Text("changeit")}.Certificate() // Kafka's order
	noError(t, err)
	_, err = KeyStore{Location: path}.Certificate()
	wantRefused(t, err, "ssl.key.password is needed")
	_, err = KeyStore{Location: path, KeyPassword: secret.Text("hunter2")}.Certificate()
	wantRefused(t, err, "open the key with ssl.key.password")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the password is shown: %v", err)
	}
}

// A properties file joins lines: PEM comes with blanks where its line ends were.
func TestPEMOnOneLine(t *testing.T) {
	pair := pkitest.NewAuthority(t, "ca").Issue("a", time.Hour)
	line := func(s string) secret.Value { return secret.Text(strings.ReplaceAll(s, "\n", " ")) }
	_, err := KeyStore{Chain: line(pair.Chain), Key: line(pair.Key)}.Certificate()
	noError(t, err)
	_, err = TrustStore{Certificates: line(pair.Chain + pair.Chain)}.Pool()
	noError(t, err)
	_, err = TrustStore{Certificates: secret.Text("-----BEGIN CERTIFICATE-----\n*\n-----END CERTIFICATE-----")}.Pool()
	wantRefused(t, err, "can't be read")
}

func FuzzPEM(f *testing.F) {
	text, err := os.ReadFile("testdata/encrypted.pem")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("-----BEGIN X-----AA==-----END X-----")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := pemPair(text, text, "") // with a password a key may take as long as it says
		if err == nil && len(c.Certificate) == 0 {
			t.Error("a pair without a certificate")
		}
	})
}
