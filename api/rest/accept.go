package rest

import (
	"errors"
	"net/http"
	"strings"

	"github.com/elnormous/contenttype"
)

// The types of answers. Only the lists of segments and rows come as lines too.
const (
	typeJSON  = "application/json"
	typeLines = "application/x-ndjson"
)

// forms are what a list can be sent as, the default first. Text in JSON is always
// UTF-8: a client that says so asks for nothing else.
var forms = []contenttype.MediaType{
	contenttype.NewMediaType(typeJSON), contenttype.NewMediaType(typeJSON + ";charset=utf-8"),
	contenttype.NewMediaType(typeLines), contenttype.NewMediaType(typeLines + ";charset=utf-8"),
}

// acceptsLines tells whether the request wants a list as NDJSON: when its Accept gives
// that a greater q than JSON, or the same q and names it first. Without an Accept, or
// with one that can't be read, it is JSON.
func acceptsLines(r *http.Request) (bool, error) {
	offered := forms
	if !r.ProtoAtLeast(1, 1) {
		// Such an answer ends with its connection: nobody could tell that lines are
		// missing.
		offered = forms[:2]
	}
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return false, nil
	}
	best, _, err := contenttype.GetAcceptableMediaTypeFromHeader(accept, offered)
	if errors.Is(err, contenttype.ErrNoAcceptableTypeFound) {
		return false, &Error{
			Code: http.StatusNotAcceptable, Message: "this can be had as " + typeJSON + " and, over HTTP/1.1 or later, as " + typeLines,
			Reason: reasonNotAcceptable,
		}
	}
	return err == nil && best.MIME() == typeLines, nil
}
