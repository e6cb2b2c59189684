package config

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Fault is one thing that is wrong.
type Fault struct {
	// Origin is where it was found: file:line, a variable, a flag; "" when it is of the
	// whole.
	Origin string
	// Key is the key as it was given there.
	Key string
	// Problem says what is wrong. It shows no secret.
	Problem string
}

func (f Fault) String() string {
	s := f.Problem
	if f.Key != "" {
		s = f.Key + ": " + s
	}
	if f.Origin != "" && f.Origin != f.Key {
		s = f.Origin + ": " + s
	}
	return s
}

// Error is everything that is wrong with a configuration.
type Error struct{ Faults []Fault }

// Error gives each fault a line.
func (e *Error) Error() string {
	if len(e.Faults) == 1 {
		return e.Faults[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the configuration has %d faults:", len(e.Faults))
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.String())
	}
	return b.String()
}

// errorOf returns the faults as an error, nil when there are none.
func errorOf(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &Error{faults}
}

// nearest returns the candidate that is the least edits away from the name, if they are few
// for its length; of several the first by name.
func nearest(name string, candidates []string) string {
	best, least := "", max(2, len(name)/4)+1
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(name, c); d < least || d == least && best != "" && c < best {
			best, least = c, d
		}
	}
	return best
}

func unknown(name string, candidates []string) string {
	if match := nearest(name, candidates); match != "" {
		return fmt.Sprintf("unknown key; did you mean %s?", match)
	}
	return "unknown key"
}
