package codec

import "fmt"

// RowVersion is a version of the row format: the first byte of a row.
type RowVersion uint8

// DefaultRowVersion is the version that is written unless a fleet is told otherwise: one
// that every supported release reads, so that old and new ones share a table.
const DefaultRowVersion RowVersion = 1

// NewestRowVersion is the newest version that this build reads and writes. It does so
// with all before it too.
const NewestRowVersion = RowVersion(len(rowForms) - 1)

// rowForm is how rows of one version are written and read. Both get a row's version byte
// too; whether decode knows that version was checked.
type rowForm struct {
	encode func(dst []byte, r Row) []byte
	decode func(key Key, value []byte) (Row, error)
}

// Validate returns an error for a version that this build can't write.
func (v RowVersion) Validate() error {
	if v < 1 || v > NewestRowVersion {
		return fmt.Errorf("row version: must be 1 to %d, the newest that this release knows, not %d", NewestRowVersion, v)
	}
	return nil
}

// EncodeRow returns the row in a version that must be valid, without the ids, which the
// key holds, and without the fields that its kind doesn't use. What [DecodeRow] refuses,
// an unknown kind for one, must not be written; EncodeRow doesn't check.
func (v RowVersion) EncodeRow(r Row) []byte {
	size := fixedBytes + len(r.Partition().Topic) + r.Segment.CustomMetadata.Len() + minEpochBytes*(r.Segment.LeaderEpochs.Len()+r.Highest.Len())
	return rowForms[v].encode(make([]byte, 0, size), r)
}

// EncodeRow is [RowVersion.EncodeRow] in the default version.
func EncodeRow(r Row) []byte { return DefaultRowVersion.EncodeRow(r) }

// DecodeRow reads a row of any version up to the newest that was stored under the key,
// and keeps nothing of value. A row of a newer version is a [RowVersionError]; any other
// fault, a kind that doesn't belong under the key included, is a [DecodeError].
func DecodeRow(key Key, value []byte) (Row, error) {
	if err := CheckRowVersion(value); err != nil {
		return Row{}, err
	}
	return rowForms[max(1, RowVersionOf(value))].decode(key, value)
}

// RowVersionOf returns the version in which a row was written, known or not; 0 for no row.
func RowVersionOf(value []byte) RowVersion {
	if len(value) == 0 {
		return 0
	}
	return RowVersion(value[0])
}

// CheckRowVersion returns a [RowVersionError] for a row of a newer version than this
// reader knows, without reading it. No row is fine.
func CheckRowVersion(value []byte) error {
	if v := RowVersionOf(value); v > NewestRowVersion {
		return &RowVersionError{Version: v}
	}
	return nil
}
