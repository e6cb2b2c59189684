package config

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/magiconair/properties"
)

// property is a key and a value of a file.
type property struct {
	line       int
	key, value string
}

// parseProperties reads a properties file as java.util.Properties does, in the order of
// its lines; ${...} means nothing, as with Kafka. The text is UTF-8, or else ISO-8859-1.
// A line that can't be read has the key "".
func parseProperties(content []byte) []property {
	encoding := properties.UTF8
	if !utf8.Valid(content) {
		encoding = properties.ISO_8859_1
	}
	loader := properties.Loader{Encoding: encoding, DisableExpansion: true}
	var found []property
	for _, l := range logicalLines(string(content)) {
		key, value, err := parseLine(&loader, l.text)
		if err != nil {
			key, value = "", ""
		}
		found = append(found, property{l.number, key, value})
	}
	return found
}

// parseLine reads one logical line; the library knows no line numbers.
func parseLine(loader *properties.Loader, line string) (key, value string, err error) {
	p, err := loader.LoadBytes([]byte(line))
	if err != nil {
		return "", "", err
	}
	if p.Len() != 1 {
		return "", "", errors.New("not one property")
	}
	key = p.Keys()[0]
	value, _ = p.Get(key)
	return key, strings.TrimSpace(value), nil
}

type logicalLine struct {
	number int // of its first line, from 1
	text   string
}

// logicalLines joins lines that end in an odd number of backslashes with what follows, and
// leaves out blank lines and comments.
func logicalLines(content string) []logicalLine {
	var found []logicalLine
	continued := false
	content = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(content)
	for i, line := range strings.Split(strings.TrimPrefix(content, "\ufeff"), "\n") {
		bare := strings.TrimLeft(line, " \t\f")
		switch {
		case continued:
			found[len(found)-1].text += "\n" + line
		case bare == "" || bare[0] == '#' || bare[0] == '!':
			continue
		default:
			found = append(found, logicalLine{i + 1, line})
		}
		backslashes := len(line) - len(strings.TrimRight(line, `\`))
		continued = backslashes%2 == 1
	}
	return found
}
