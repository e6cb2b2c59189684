package recording

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantSame(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func collect(r io.Reader) (events []Event, err error) {
	for e, err := range Read(r) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func TestRead(t *testing.T) {
	one := Event{Partition: 1, Offset: -1, Value: []byte{0xab}}
	for _, c := range []struct {
		name, in string
		want     []Event
		err      string // its beginning; empty is none
	}{
		{"nothing", "", nil, ""},
		{"one", `{"partition":1,"value":"ab"}`, []Event{one}, ""},
		{"offset", `{"partition":1,"offset":7,"value":"AB"}` + "\n", []Event{{1, 7, nil, []byte{0xab}}}, ""},
		{"null value", `{"partition":1,"value":null}`, []Event{{1, -1, nil, nil}}, ""},
		{"empty value is not null", `{"partition":1,"value":""}`, []Event{{1, -1, nil, []byte{}}}, ""},
		{"key", `{"partition":1,"key":"00","value":"ab"}`, []Event{{1, -1, []byte{0}, []byte{0xab}}}, ""},
		{"empty key is not null", `{"partition":1,"key":"","value":"ab"}`, []Event{{1, -1, []byte{}, []byte{0xab}}}, ""},
		{"null key and offset", `{"partition":1,"key":null,"offset":null,"value":"ab"}`, []Event{one}, ""},
		{"other fields", `{"partition":1,"value":"ab","timestamp":5,"headers":[]}`, []Event{one}, ""},
		{"blank lines", "\n  \n" + `{"partition":1,"value":"ab"}` + "\r\n\n\t\n" + `{"partition":1,"value":"ab"}`, []Event{one, one}, ""},
		{"bad JSON", `{"partition":1,"value":"ab"}` + "\n\nx\n" + `{"partition":1}`, []Event{one}, "line 3: "},
		{"cut line", `{"partition":1,"val`, nil, "line 1: "},
		{"two on a line", `{"partition":1}{"partition":1}`, nil, "line 1: "},
		{"no object", `[1]`, nil, "line 1: "},
		{"bad hex", `{"partition":1,"value":"zz"}`, nil, "line 1: value: "},
		{"odd hex", `{"partition":1,"value":"abc"}`, nil, "line 1: value: "},
		{"bad hex in the key", `{"partition":1,"key":"0x","value":"ab"}`, nil, "line 1: key: "},
		{"missing partition", `{"value":"ab"}`, nil, "line 1: partition: "},
		{"missing value is no null", `{"partition":1}`, nil, "line 1: value: "},
		{"value of another type", `{"partition":1,"value":7}`, nil, "line 1: value: "},
		{"null partition", `{"partition":null,"value":"ab"}`, nil, "line 1: partition: "},
		{"negative partition", `{"partition":-1,"value":"ab"}`, nil, "line 1: partition: "},
		{"partition of 33 bits", `{"partition":4294967296,"value":"ab"}`, nil, "line 1: "},
		{"partition in quotes", `{"partition":"1","value":"ab"}`, nil, "line 1: "},
		{"value that is no text", `{"partition":1,"value":5}`, nil, "line 1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := collect(strings.NewReader(c.in))
			if (err != nil) != (c.err != "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			wantSame(t, "events", c.want, got)
		})
	}
}

func TestReadEndsWhenAsked(t *testing.T) {
	n := 0
	for _, err := range Read(strings.NewReader(strings.Repeat(`{"partition":1,"value":null}`+"\n", 5))) {
		noError(t, err)
		if n++; n == 2 {
			break
		}
	}
	wantSame(t, "events", 2, n)
}

func TestReadTellsOfTheReader(t *testing.T) {
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader(`{"partition":1,"value":null}`+"\n"), failing{broken})
	got, err := collect(in)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "line 2: ") || len(got) != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
}

type failing struct{ error }

func (r failing) Read([]byte) (int, error) { return 0, r.error }

func TestReadLongLine(t *testing.T) {
	value := strings.Repeat("ab", 2<<20)
	got, err := collect(strings.NewReader(`{"partition":1,"value":"` + value + `"}`))
	noError(t, err)
	wantSame(t, "bytes", 2<<20, len(got[0].Value))
}

func TestBundled(t *testing.T) {
	events, err := collect(Bundled())
	noError(t, err)
	next := map[int32]int64{}
	for i, e := range events {
		if e.Offset != next[e.Partition] || e.Key != nil {
			t.Fatalf("event %d is %+v, due on that partition is offset %d", i, e, next[e.Partition])
		}
		next[e.Partition]++
	}
	wantSame(t, "events and partitions", []int{896, 8}, []int{len(events), len(next)})
}

// FuzzParse: what is read is read again from its own JSON, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"partition":1,"offset":7,"key":"00","value":"ab"}`, `{"partition":1,"value":null}`, `{"partition":-1}`, `{}`, `x`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := Parse(b)
		if err != nil {
			return
		}
		if e.Partition < 0 {
			t.Fatalf("partition %d", e.Partition)
		}
		again, err := Parse(format(t, e))
		noError(t, err)
		wantSame(t, "again", e, again)
	})
}

func format(t *testing.T, e Event) []byte {
	t.Helper()
	b, err := json.Marshal(map[string]any{"partition": e.Partition, "offset": e.Offset, "key": toHex(e.Key), "value": toHex(e.Value)})
	noError(t, err)
	return b
}

func toHex(b []byte) *string {
	if b == nil {
		return nil
	}
	s := hex.EncodeToString(b)
	return &s
}
