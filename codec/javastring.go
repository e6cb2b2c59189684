package codec

import (
	"strings"
	"unicode/utf8"
)

// javaString makes of bytes the string that Java's new String(b, UTF_8) does: what
// isn't UTF-8 becomes U+FFFD, one for each broken sequence. Go would put one for
// each byte, and the topic's name would not be Kafka's.
func javaString(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	s.Grow(len(b) + 8)
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			n = brokenLen(b)
		}
		s.WriteRune(c)
		b = b[n:]
	}
	return s.String()
}

// brokenLen is how many bytes of a broken sequence Java replaces at once: the
// longest beginning of a sequence that could still have become one. An encoded
// surrogate counts as a whole sequence.
func brokenLen(b []byte) int {
	want, low, high := sequence(b[0])
	n := 1
	for n < want && n < len(b) && b[n] >= low && b[n] <= high {
		n, low, high = n+1, 0x80, 0xbf
	}
	return n
}

// sequence is how many bytes begin with lead in UTF-8, and the range of the second.
func sequence(lead byte) (want int, low, high byte) {
	switch {
	case lead >= 0xc2 && lead <= 0xdf:
		return 2, 0x80, 0xbf
	case lead == 0xe0:
		return 3, 0xa0, 0xbf
	case lead > 0xe0 && lead <= 0xef:
		return 3, 0x80, 0xbf
	case lead == 0xf0:
		return 4, 0x90, 0xbf
	case lead > 0xf0 && lead < 0xf4:
		return 4, 0x80, 0xbf
	case lead == 0xf4:
		return 4, 0x80, 0x8f
	}
	return 1, 0, 0
}
