//go:build !rlmm_nextrow

package codec

// rowForms are the forms of rows by version. There is no version 0.
var rowForms = [...]rowForm{1: {appendRow1, decodeRow1}}
