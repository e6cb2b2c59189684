package rest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"net/http"
)

// list is an answer {"name":[…]} that is written element by element, so that a large
// one is never held as text.
type list struct {
	name     string
	elements iter.Seq[any]
}

// listOf makes a list of items, each shown in its shape.
func listOf[T, S any](name string, items []T, shape func(T) S) list {
	return list{name, func(yield func(any) bool) {
		for _, item := range items {
			if !yield(shape(item)) {
				return
			}
		}
	}}
}

// write answers with a JSON value or a [list].
func write(w http.ResponseWriter, status int, v any) {
	head := w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	if l, ok := v.(list); ok {
		w.WriteHeader(status)
		writeList(w, l)
		return
	}
	// Encoded before the status is sent: a value that can't be is a fault of ours.
	var body bytes.Buffer
	if err := newEncoder(&body).Encode(v); err != nil {
		panic(err)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client is gone when this fails
}

// writeList cuts the connection when an element can't be written, so that the client
// never takes a part for the whole.
func writeList(w io.Writer, l list) {
	out := bufio.NewWriterSize(w, 32<<10)
	encoder := newEncoder(out)
	_, err := out.WriteString(`{"` + l.name + `":[`)
	separator := ""
	for element := range l.elements {
		_, _ = out.WriteString(separator) // a failed write fails all that follow
		if err = encoder.Encode(element); err != nil {
			break
		}
		separator = ","
	}
	if err == nil {
		_, _ = out.WriteString("]}\n")
		err = out.Flush()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

func newEncoder(w io.Writer) *json.Encoder {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder
}

// answerWriter remembers whether the answer has begun.
type answerWriter struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader notes that the answer has begun.
func (w *answerWriter) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// probeWriter keeps status and header of an answer and drops the rest.
type probeWriter struct {
	header http.Header
	code   int
}

func (p *probeWriter) Header() http.Header         { return p.header }
func (p *probeWriter) WriteHeader(code int)        { p.code = code }
func (p *probeWriter) Write(b []byte) (int, error) { return len(b), nil }
