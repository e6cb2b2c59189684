package secret

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Tokens reveals bearer tokens, separated by white space: several may be good at a time, so
// that they can be replaced one by one. The error is that of [Value.Reveal], or says what is
// wrong with which token, by its number, and doesn't show it.
func (v Value) Tokens() ([]string, error) { return Parse(v, parseTokens) }

// minToken is the least length of a token: less can be guessed.
const minToken = 16

// tokenSyntax is RFC 6750's b64token.
var tokenSyntax = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// parseTokens splits tokens that are separated by white space. Each must have 16 characters
// or more, of those that a header takes (RFC 6750). The error says which, by its number, and
// doesn't show it.
func parseTokens(text string) ([]string, error) {
	tokens := strings.Fields(text)
	for i, t := range tokens {
		switch {
		case len(t) < minToken:
			return nil, fmt.Errorf("token %d is shorter than %d characters", i+1, minToken)
		case !tokenSyntax.MatchString(t):
			return nil, fmt.Errorf("token %d has characters other than letters, digits and -._~+/=", i+1)
		}
	}
	if len(tokens) == 0 {
		return nil, errors.New("there is no token")
	}
	return tokens, nil
}
