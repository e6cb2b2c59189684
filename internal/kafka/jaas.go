package kafka

import (
	"errors"
	"fmt"
	"strings"
)

// jaas is what sasl.jaas.config says: one login module and its options.
type jaas struct {
	module  string // without its package
	options map[string]string
}

// errJAAS says what is expected. What was found may hold a secret and is never shown.
var errJAAS = errors.New("must be: <LoginModule> required name=\"value\" ...;")

// parseJAAS reads a login module as Kafka's JaasConfig does: one module, a control flag,
// options, a semicolon; values in quotes or bare, with backslash escapes in quotes.
func parseJAAS(text string) (jaas, error) {
	tokens, err := jaasTokens(text)
	if err != nil {
		return jaas{}, err
	}
	if len(tokens) < 3 || tokens[len(tokens)-1] != ";" || !isFlag(tokens[1]) {
		return jaas{}, errJAAS
	}
	rest := tokens[2 : len(tokens)-1]
	j := jaas{module: tokens[0][strings.LastIndex(tokens[0], ".")+1:], options: map[string]string{}}
	if len(rest)%3 != 0 {
		return jaas{}, errJAAS
	}
	for ; len(rest) > 0; rest = rest[3:] {
		if rest[1] != "=" {
			return jaas{}, errJAAS
		}
		j.options[rest[0]] = strings.TrimPrefix(rest[2], quoted)
	}
	return j, nil
}

func isFlag(s string) bool {
	switch strings.ToLower(s) {
	case "required", "requisite", "sufficient", "optional":
		return true
	}
	return false
}

// quoted marks a token that was in quotes, so that it is nothing else.
const quoted = "\x00"

func jaasTokens(text string) ([]string, error) {
	var tokens []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		switch c := text[0]; c {
		case '=', ';':
			tokens, text = append(tokens, text[:1]), text[1:]
		case '"', '\'':
			value, rest, err := unquote(text)
			if err != nil {
				return nil, err
			}
			tokens, text = append(tokens, quoted+value), rest
		default:
			end := strings.IndexAny(text, "=;\"' \t\r\n\f")
			if end < 0 {
				end = len(text)
			}
			tokens, text = append(tokens, text[:end]), text[end:]
		}
	}
	return tokens, nil
}

// unquote reads up to the closing quote.
func unquote(text string) (value, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return b.String(), text[i+1:], nil
		case '\\':
			if i++; i == len(text) {
				return "", "", errJAAS
			}
			b.WriteByte(unescaped(text[i]))
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", errJAAS
}

func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}

// need returns the options, and an error that names those that are missing.
func (j jaas) need(names ...string) ([]string, error) {
	values := make([]string, len(names))
	var errs []error
	for i, name := range names {
		if values[i] = j.options[name]; values[i] == "" {
			errs = append(errs, fmt.Errorf("the option %s is missing", name))
		}
	}
	return values, errors.Join(errs...)
}
