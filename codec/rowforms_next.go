//go:build rlmm_nextrow

package codec

import (
	"encoding/binary"
	"hash/crc32"
)

// The build tag rlmm_nextrow makes what a next release may be: it knows a row version more.
// The tests of upgrades run it next to an ordinary build; it is never released.

// rowForms are the forms of rows by version. There is no version 0.
var rowForms = [...]rowForm{1: {appendRow1, decodeRow1}, 2: {appendRow2, decodeRow2}}

const sumBytes = crc32.Size

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRow2 appends the row in version 2: that of version 1, and 4 bytes, big-endian, of
// the CRC-32C of what lies before them.
func appendRow2(dst []byte, r Row) []byte {
	start := len(dst)
	dst = appendRow1(dst, r)
	dst[start] = 2
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

func decodeRow2(key Key, value []byte) (Row, error) {
	body := value[:max(0, len(value)-sumBytes)]
	row, err := decodeRow1(key, body)
	if err == nil && crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(value[len(body):]) {
		err = &DecodeError{Reason: ReasonValue, Offset: len(body), Field: "checksum", Detail: "isn't the row's"}
	}
	if err != nil {
		return Row{}, err
	}
	return row, nil
}
