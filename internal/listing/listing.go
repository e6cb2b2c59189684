// Package listing reads lists of the objects in remote storage, and finds in their names the
// ids of the segments that they are of. It is pure.
//
// A list is of lines, each of one of these forms:
//
//	PATH                              a path, key or URL alone
//	DATE TIME SIZE PATH               aws s3 ls --recursive
//	"BUCKET","KEY",…                  CSV, an S3 inventory for one; one field has the name
//
// Of a path the last element tells the segment, up to its first dot: it is a segment id, or
// ends with one behind a dash. So do the names of Kafka's LocalTieredStorage and of Aiven's
// plugin, START_OFFSET-SEGMENT_ID.SUFFIX. If it doesn't, the nearest folder whose whole name
// is an id is taken. Ids are Kafka's base64 or UUIDs.
package listing

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// Listing is what a list says.
type Listing struct {
	// Segments has the first name that has the segment's id, by id.
	Segments map[api.UUID]string
	// Objects counts the lines, Unnamed those of them that have no id.
	Objects, Unnamed int
}

// maxLine bounds a line; keys of S3 have up to 1,024 bytes.
const maxLine = 1 << 20

// Read reads a list to its end. Empty lines are passed over; an error names the line.
func Read(r io.Reader) (Listing, error) {
	l := Listing{Segments: map[api.UUID]string{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if err := l.add(strings.TrimSpace(lines.Text())); err != nil {
			return l, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return l, fmt.Errorf("line %d: %w", n+1, err)
	}
	return l, nil
}

func (l *Listing) add(line string) error {
	if line == "" {
		return nil
	}
	names, err := namesIn(line)
	if err != nil {
		return err
	}
	l.Objects++
	for _, name := range names {
		if id, ok := SegmentOf(name); ok {
			if _, known := l.Segments[id]; !known {
				l.Segments[id] = name
			}
			return nil
		}
	}
	l.Unnamed++
	return nil
}

// awsLine is a line of aws s3 ls.
var awsLine = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d+ (.+)$`)

// namesIn returns what may be the object's name in a line.
func namesIn(line string) ([]string, error) {
	if strings.HasPrefix(line, `"`) {
		return csv.NewReader(strings.NewReader(line)).Read()
	}
	if m := awsLine.FindStringSubmatch(line); m != nil {
		return m[1:], nil
	}
	return []string{line}, nil
}

// SegmentOf returns the id of the segment that an object's name tells, and whether it tells
// one.
func SegmentOf(name string) (api.UUID, bool) {
	elements := strings.Split(name, "/")
	file, _, _ := strings.Cut(elements[len(elements)-1], ".")
	for _, length := range [...]int{lengthUUID, lengthBase64} {
		if head := len(file) - length; head == 0 || head > 0 && file[head-1] == '-' {
			if id, ok := parseID(file[head:]); ok {
				return id, true
			}
		}
	}
	for i := len(elements) - 2; i >= 0; i-- {
		if id, ok := parseID(elements[i]); ok {
			return id, true
		}
	}
	return api.UUID{}, false
}

// The lengths of an id's two texts.
const (
	lengthUUID   = 36
	lengthBase64 = 22
)

func parseID(text string) (api.UUID, bool) {
	if len(text) != lengthUUID && len(text) != lengthBase64 {
		return api.UUID{}, false
	}
	id, err := api.ParseUUID(text)
	return id, err == nil
}
