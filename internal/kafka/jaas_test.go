package kafka

import (
	"strconv"
	"strings"
	"testing"
)

func TestParseJAAS(t *testing.T) {
	const scram = "org.apache.kafka.common.security.scram.ScramLoginModule"
	for _, c := range []struct {
		text string
		want map[string]string // nil is an error
	}{
		{scram + ` required username="alice" password="p";`, map[string]string{"username": "alice", "password": "p"}},
		{scram + " REQUIRED\n\tusername='alice'\r\n\tpassword = bare-$1 ;", map[string]string{"username": "alice", "password": "bare-$1"}},
		{scram + ` required password="a\"b\\c\n;=" ;`, map[string]string{"password": "a\"b\\c\n;="}},
		{scram + ` required password="";`, map[string]string{"password": ""}},
		{scram + ` required password=";";`, map[string]string{"password": ";"}},
		{scram + ` required;`, map[string]string{}},
		{scram + ` required username="alice"`, nil},
		{scram + ` username="alice";`, nil},
		{scram + ` required username;`, nil},
		{scram + ` required username "=" alice;`, nil},
		{scram + ` required username="alice;`, nil},
		{scram + ` required username="alice\`, nil},
		{scram + ` required; ` + scram + ` required;`, nil},
		{"", nil},
		{";", nil},
	} {
		j, err := parseJAAS(c.text)
		if (err == nil) != (c.want != nil) {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if err == nil {
			wantSame(t, c.text, c.want, j.options)
			wantSame(t, c.text, "ScramLoginModule", j.module)
		}
	}
}

// Any password can be written in quotes, and what can't be read is never shown.
func FuzzJAAS(f *testing.F) {
	f.Add(`M required password="p";`, "p")
	f.Add(`M required a='b' c=d;`, "\"\\\n;=\x00é")
	f.Fuzz(func(t *testing.T, text, password string) {
		if _, err := parseJAAS(text); err != nil && err.Error() != errJAAS.Error() {
			t.Errorf("it says %v", err)
		}
		quotedPassword := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(password) + `"`
		j, err := parseJAAS("a.b.M required password=" + quotedPassword + " n=" + strconv.Itoa(len(password)) + ";")
		if err != nil || j.module != "M" || j.options["n"] != strconv.Itoa(len(password)) {
			t.Fatalf("%+v, %v", j, err)
		}
		if j.options["password"] != password {
			t.Fatalf("%q became %q", password, j.options["password"])
		}
	})
}
