package rest

import "net/http"

// Patterns are the routes of a handler of NewHandler, as its mux has them.
func Patterns(h http.Handler) []string {
	return h.(*handler).patterns //nolint:forcetypeassert // see above
}
