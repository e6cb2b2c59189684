package rest

import (
	"bufio"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// The next page's token is a member of a JSON answer; lines leave no place for it but
// the header.
const (
	memberNextPage = "nextPageToken"
	headerNextPage = "X-RLMM-Next-Page-Token"
)

// list is an answer that is written element by element, so that a large one is never
// held as text: {"name":[…]}, or each element as a line.
type list struct {
	name string
	// elements ends with the first error.
	elements iter.Seq2[any, error]
	// next is the token of the page after this one, empty when there is none.
	next  string
	lines bool
}

// listOf makes a list of items, each shown in its shape.
func listOf[T, S any](name string, items []T, shape func(T) S) list {
	return list{name: name, elements: func(yield func(any, error) bool) {
		for _, item := range items {
			if !yield(shape(item), nil) {
				return
			}
		}
	}}
}

// streamOf is listOf for an iterator.
func streamOf[T, S any](name string, steps iter.Seq2[T, error], shape func(T) S) list {
	return list{name: name, elements: func(yield func(any, error) bool) {
		for item, err := range steps {
			if !yield(shape(item), err) {
				return
			}
		}
	}}
}

// write answers with the list. An error means that nothing is sent yet. When something
// fails later it cuts the connection, so that the client never takes a part for the
// whole.
func (l list) write(w http.ResponseWriter, r *http.Request) error {
	out := l.writer(w, r)
	for element, err := range l.elements {
		if err != nil && !out.begun {
			return err
		}
		if err != nil || out.add(element) != nil {
			panic(http.ErrAbortHandler)
		}
		if r.Method == http.MethodHead {
			return nil
		}
	}
	if out.end() != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// listWriter writes a list.
type listWriter struct {
	list
	answer  http.ResponseWriter
	noBody  bool
	begun   bool
	text    *bufio.Writer
	encoder *json.Encoder
}

func (l list) writer(w http.ResponseWriter, r *http.Request) *listWriter {
	text := bufio.NewWriterSize(newPaced(w, r, l.lines), 32<<10)
	return &listWriter{list: l, answer: w, noBody: r.Method == http.MethodHead, text: text, encoder: newEncoder(text)}
}

// begin sends the header.
func (w *listWriter) begin() {
	w.begun = true
	head := w.answer.Header()
	setHead(head, typeJSON)
	if w.lines {
		head.Set("Content-Type", typeLines)
		if w.next != "" {
			head.Set(headerNextPage, w.next)
		}
	}
	w.answer.WriteHeader(http.StatusOK)
	if !w.lines && !w.noBody {
		_, _ = w.text.WriteString(`{"` + w.name + `":[`) // a failed write fails all that follow
	}
}

// add writes an element. The first line goes out at once.
func (w *listWriter) add(element any) error {
	first := !w.begun
	if first {
		w.begin()
	} else if !w.lines {
		_, _ = w.text.WriteString(",")
	}
	if w.noBody {
		return nil
	}
	if err := w.encoder.Encode(element); err != nil || !first || !w.lines {
		return err
	}
	return w.text.Flush()
}

// end writes what comes behind the elements.
func (w *listWriter) end() error {
	if !w.begun {
		w.begin()
	}
	if w.lines || w.noBody {
		return w.text.Flush()
	}
	_, _ = w.text.WriteString("]")
	if w.next != "" {
		_, _ = w.text.WriteString(`,"` + memberNextPage + `":"` + w.next + `"`)
	}
	_, _ = w.text.WriteString("}\n")
	return w.text.Flush()
}

// paced gives each write the server's whole write timeout, as long as all of them together
// keep up with the least rate: an answer may take as long as it moves on.
type paced struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	rate    int64 // bytes a second; zero or less is no limit
	flush   bool
	spent   time.Duration // in writes: what the server takes to find more isn't the client's
	written int64
}

func newPaced(w http.ResponseWriter, r *http.Request, flush bool) *paced {
	p := &paced{ResponseWriter: w, control: http.NewResponseController(w), flush: flush}
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
		p.timeout = server.WriteTimeout
	}
	p.rate, _ = r.Context().Value(minRateKey{}).(int64)
	return p
}

// Write writes, and flushes if that is wanted.
func (p *paced) Write(b []byte) (int, error) {
	start := time.Now()
	if p.timeout > 0 {
		// It fails behind a wrapper that hides the connection; the timeout is then for
		// the whole answer.
		_ = p.control.SetWriteDeadline(start.Add(p.patience()))
	}
	n, err := p.ResponseWriter.Write(b)
	p.written += int64(n)
	if err == nil && p.flush {
		_ = p.control.Flush() // the next write fails if this does
	}
	p.spent += time.Since(start)
	return n, err
}

// patience is how long the next write may take.
func (p *paced) patience() time.Duration {
	if p.rate <= 0 {
		return p.timeout
	}
	due := time.Duration(float64(p.written) / float64(p.rate) * float64(time.Second))
	return min(p.timeout, p.timeout+due-p.spent)
}
