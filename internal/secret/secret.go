// Package secret keeps passwords and keys out of everything that is printed: a Value
// shows itself as hidden to fmt, slog and encoding/json, wherever it is embedded.
package secret

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Hidden is what is shown in place of a secret.
const Hidden = "[hidden]"

// Value is a secret: a text, or a file that is read each time, so that a secret that was
// changed there is used without a restart. The zero value is no secret.
type Value struct {
	// A function: fmt shows what an unexported field holds, what it points to as well,
	// without asking any method, but of a function the address only.
	reveal func() (string, error)
}

// Text returns a secret that is given; none when the text is empty.
func Text(text string) Value {
	if text == "" {
		return Value{}
	}
	return Value{func() (string, error) { return text, nil }}
}

// File returns a secret that lies in a file. Line ends at its end are no part of it.
func File(path string) Value { return Value{func() (string, error) { return read(path) }} }

func read(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	text := strings.TrimRight(string(content), "\r\n")
	if text == "" {
		return "", fmt.Errorf("read a secret: %s is empty", path)
	}
	return text, nil
}

// IsZero tells whether there is no secret.
func (v Value) IsZero() bool { return v.reveal == nil }

// Reveal returns the secret, "" when there is none. The error is of a file that can't be
// read, or is empty.
func (v Value) Reveal() (string, error) {
	if v.IsZero() {
		return "", nil
	}
	return v.reveal()
}

// Parse reveals a secret and returns what parse makes of it, or the first error.
func Parse[T any](v Value, parse func(string) (T, error)) (T, error) {
	text, err := v.Reveal()
	if err != nil {
		var none T
		return none, err
	}
	return parse(text)
}

// String is Hidden, or "" when there is no secret.
func (v Value) String() string {
	if v.IsZero() {
		return ""
	}
	return Hidden
}

// GoString is String.
func (v Value) GoString() string { return v.String() }

// LogValue is String, for slog.
func (v Value) LogValue() slog.Value { return slog.StringValue(v.String()) }

// MarshalText is String, for JSON and whatever else writes text.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
