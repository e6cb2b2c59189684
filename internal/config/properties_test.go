package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The values are what java.util.Properties makes of these lines.
func TestParseProperties(t *testing.T) {
	for _, c := range []struct {
		text string
		want []property
	}{
		{"", nil},
		{"a=1\r\nb : 2\rc 3\n", []property{{1, "a", "1"}, {2, "b", "2"}, {3, "c", "3"}}},
		{"# c\\\n! d\n\n  \t\na=1", []property{{5, "a", "1"}}},
		{"a = x \\\n   y \\\n\tz\nb=1", []property{{1, "a", "x y z"}, {4, "b", "1"}}},
		{"a=x\\\\\nb=y", []property{{1, "a", `x\`}, {2, "b", "y"}}},
		{"a\\=b=c\\:d", []property{{1, "a=b", "c:d"}}},
		{"a=${b}${c", []property{{1, "a", "${b}${c"}}},
		{`a=\u00e9\t\n.`, []property{{1, "a", "é\t\n."}}},
		{"a=é", []property{{1, "a", "é"}}},
		{"a=\xe9", []property{{1, "a", "é"}}},
		{"\ufeffa=1", []property{{1, "a", "1"}}},
		{"a", []property{{1, "a", ""}}},
		{"a==b", []property{{1, "a", "=b"}}},
		{"a=#b!", []property{{1, "a", "#b!"}}},
		{`a=\u12`, []property{{1, "", ""}}},
		{"a=\\\n# no comment", []property{{1, "a", "# no comment"}}},
	} {
		got := parseProperties([]byte(c.text))
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(property{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}

// Whatever a file holds: it is read, in the order of its lines, and never twice a line.
func FuzzParseProperties(f *testing.F) {
	f.Add([]byte("a=1\\\n b\n#c\n!d\n\\u0041: x"))
	f.Fuzz(func(t *testing.T, content []byte) {
		line := 0
		for _, p := range parseProperties(content) {
			if p.line <= line {
				t.Fatalf("line %d after %d", p.line, line)
			}
			line = p.line
		}
	})
}
