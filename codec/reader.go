package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/tieredlog/rlmm/api"
)

// reader reads fields from a value. The first fault stays; what is read after it is
// zero.
type reader struct {
	in   kbin.Reader
	size int
	// at is where the field that was read last begins.
	at  int
	err *DecodeError
}

func newReader(value []byte) reader { return reader{in: kbin.Reader{Src: value}, size: len(value)} }

func (r *reader) offset() int { return r.size - len(r.in.Src) }

// failAt keeps the first fault and leaves nothing to read.
func (r *reader) failAt(at int, reason Reason, field, format string, args ...any) {
	if r.err == nil {
		r.err = &DecodeError{Reason: reason, Offset: at, Field: field, Detail: fmt.Sprintf(format, args...)}
	}
	r.in.Src = nil
}

// fail is failAt for the field that was read last.
func (r *reader) fail(reason Reason, field, format string, args ...any) {
	r.failAt(r.at, reason, field, format, args...)
}

// has tells whether n more bytes are there for the field. It asks before kbin does,
// which would forget where it was.
func (r *reader) has(field string, n int) bool {
	if n > len(r.in.Src) {
		r.fail(ReasonTruncated, field, "needs %d bytes, %d are left", n, len(r.in.Src))
		return false
	}
	return true
}

// begins is has for a field of a fixed size that begins here.
func (r *reader) begins(field string, n int) bool {
	r.at = r.offset()
	return r.has(field, n)
}

func (r *reader) int8(field string) int8 {
	if !r.begins(field, 1) {
		return 0
	}
	return r.in.Int8()
}

func (r *reader) int32(field string) int32 {
	if !r.begins(field, 4) {
		return 0
	}
	return r.in.Int32()
}

func (r *reader) int64(field string) int64 {
	if !r.begins(field, 8) {
		return 0
	}
	return r.in.Int64()
}

func (r *reader) uuid(field string) api.UUID {
	if !r.begins(field, len(api.UUID{})) {
		return api.UUID{}
	}
	return api.UUID(r.in.Uuid())
}

// span returns n bytes of the input; the field begins where its length did.
func (r *reader) span(field string, n int) []byte {
	if !r.has(field, n) {
		return nil
	}
	return r.in.Span(n)
}

// uvarint reads what ByteUtils.readUnsignedVarint does: a fifth byte below 0x80 is
// taken, and its bits beyond the 32nd are dropped, which kbin refuses.
func (r *reader) uvarint(field string) uint32 {
	r.at = r.offset()
	u, n := kbin.Uvarint(r.in.Src)
	if n < 0 && r.in.Src[4] < 0x80 {
		five := [5]byte(r.in.Src)
		five[4] &= 0x0f
		u, n = kbin.Uvarint(five[:])
	}
	return uint32(r.took(field, uint64(u), n))
}

// uvarlong reads an unsigned number of up to 64 bits in its shortest form.
func (r *reader) uvarlong(field string) uint64 {
	r.at = r.offset()
	u, n := binary.Uvarint(r.in.Src)
	if n > 1 && r.in.Src[n-1] == 0 {
		r.fail(ReasonLength, field, "number is longer than it needs to be")
		return 0
	}
	return r.took(field, u, n)
}

// varlong reads a number in zigzag form, small ones of either sign in few bytes.
func (r *reader) varlong(field string) int64 {
	u := r.uvarlong(field)
	return int64(u>>1) ^ -int64(u&1)
}

// took moves past a number of n bytes; n is as [binary.Uvarint] gives it.
func (r *reader) took(field string, u uint64, n int) uint64 {
	switch {
	case n > 0:
		r.in.Src = r.in.Src[n:]
		return u
	case n < 0:
		r.fail(ReasonLength, field, "number is longer than %d bytes", -n)
	default:
		r.fail(ReasonTruncated, field, "number ends early")
	}
	return 0
}

// end fails if anything is left.
func (r *reader) end() {
	if left := len(r.in.Src); left > 0 {
		r.failAt(r.offset(), ReasonTrailing, "end", "%d more bytes", left)
	}
}

// result is the first fault as an error that is nil when there is none.
func (r *reader) result() error {
	if r.err == nil {
		return nil
	}
	return r.err
}
