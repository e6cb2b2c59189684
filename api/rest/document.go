package rest

import (
	_ "embed"
	"net/http"
	"slices"
)

//go:embed openapi.yaml
var document []byte

// OpenAPI returns the OpenAPI document of the whole API, in YAML. Which of its paths a
// server has depends on what it runs.
func OpenAPI() []byte { return slices.Clone(document) }

func serveDocument(w http.ResponseWriter, _ *http.Request) {
	setHead(w.Header(), "application/yaml") // RFC 9512
	_, _ = w.Write(document)                // the client is gone when this fails
}
