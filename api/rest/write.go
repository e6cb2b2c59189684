package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// write answers with a JSON value.
func write(w http.ResponseWriter, status int, v any) {
	// Encoded before the status is sent: a value that can't be is a fault of ours.
	var body bytes.Buffer
	if err := newEncoder(&body).Encode(v); err != nil {
		panic(err)
	}
	setHead(w.Header(), typeJSON)
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client is gone when this fails
}

// setHead sets the headers of every answer; one without a body has no type.
func setHead(head http.Header, contentType string) {
	if contentType != "" {
		head.Set("Content-Type", contentType)
	}
	head.Set("Cache-Control", "no-store")
	head.Set("Vary", "Accept")
	head.Set("X-Content-Type-Options", "nosniff")
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

// Unwrap is for [http.ResponseController].
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// probeWriter keeps status and header of an answer and drops the rest.
type probeWriter struct {
	header http.Header
	code   int
}

func (p *probeWriter) Header() http.Header         { return p.header }
func (p *probeWriter) WriteHeader(code int)        { p.code = code }
func (p *probeWriter) Write(b []byte) (int, error) { return len(b), nil }
