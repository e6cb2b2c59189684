package table

import "github.com/tieredlog/rlmm/codec"

// DecodeRow reads a row under its key as it stands in the table.
func DecodeRow(key string, value []byte) (codec.Row, error) {
	k, err := codec.ParseKey(key)
	if err != nil {
		return codec.Row{}, err
	}
	return codec.DecodeRow(k, value)
}
