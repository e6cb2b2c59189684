package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// holder has a secret wherever a struct can have one.
type holder struct {
	Exported   Value
	unexported Value
	Pointer    *Value
	List       []Value
	Map        map[string]Value
}

func show(t testing.TB, v Value) string {
	h := holder{v, v, &v, []Value{v}, map[string]Value{"k": v}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb, v)
		fmt.Fprintf(&out, verb, h)
		fmt.Fprintf(&out, verb, &h)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("m", "v", v, "h", h, "p", &h)
	}
	if err := json.NewEncoder(&out).Encode(h); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(&out, fmt.Errorf("%v %+v", v, h).Error())
	return out.String()
}

func FuzzNothingShowsASecret(f *testing.F) {
	f.Add("hunter2-hunter2")
	f.Fuzz(func(t *testing.T, s string) {
		planted := "planted-" + strings.ToValidUTF8(s, "") + "-planted"
		shown := show(t, Text(planted))
		for _, form := range []string{planted, "planted-", fmt.Sprintf("%x", "planted-")} {
			if strings.Contains(shown, form) {
				t.Fatalf("shown: %s", shown)
			}
		}
		if !strings.Contains(shown, Hidden) {
			t.Fatalf("nothing says that something is hidden: %s", shown)
		}
	})
}

// What looks for secrets finds one that is printed.
func TestASecretThatIsRevealedIsSeen(t *testing.T) {
	text, err := Text("planted").Reveal()
	if err != nil || !strings.Contains(fmt.Sprintf("%v", text), "planted") {
		t.Fatal(text, err)
	}
}

func TestFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	v := File(path)
	if _, err := v.Reveal(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file: %v", err)
	}
	for content, want := range map[string]string{"one\n": "one", "two\r\n": "two", " three ": " three ", "a\nb\n": "a\nb"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := v.Reveal(); err != nil || got != want {
			t.Errorf("%q gives %q, %v", content, got, err)
		}
	}
	if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Reveal(); err == nil {
		t.Error("an empty file is a secret")
	}
}

func TestNoSecret(t *testing.T) {
	for _, v := range []Value{{}, Text("")} {
		if got, err := v.Reveal(); err != nil || got != "" || !v.IsZero() || v.String() != "" {
			t.Errorf("%q, %v", got, err)
		}
	}
}
