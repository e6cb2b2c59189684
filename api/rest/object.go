package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tieredlog/rlmm/api"
)

// object is a JSON object whose members are taken one by one. Unlike encoding/json
// it tells a missing member from a zero, names the member that is wrong, minds the
// case of names and refuses a name that comes twice. The first fault stays.
type object struct {
	// path is where the object lies; empty is the body itself.
	path string
	// strict refuses names that aren't known.
	strict  bool
	members map[string]json.RawMessage
	err     error
}

// parseObject reads data, which must be one JSON object and nothing else.
func parseObject(path string, data []byte, strict bool) (*object, error) {
	o := &object{path: path, strict: strict, members: map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, o.fault("", "must be a JSON object")
	}
	for d.More() {
		if err := o.readMember(d); err != nil {
			return nil, err
		}
	}
	return o, o.readEnd(d)
}

func (o *object) readMember(d *json.Decoder) error {
	token, err := d.Token()
	name, _ := token.(string)
	var value json.RawMessage
	if err == nil {
		err = d.Decode(&value)
	}
	if err != nil {
		return o.fault(name, "bad JSON: "+err.Error())
	}
	if _, twice := o.members[name]; twice {
		return o.fault(name, "is there twice")
	}
	o.members[name] = value
	return nil
}

func (o *object) readEnd(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return o.fault("", "bad JSON: "+err.Error())
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return o.fault("", "must be one JSON object and nothing after it")
	}
	return nil
}

// fault makes the error about a member; an empty name is the object itself.
func (o *object) fault(name, reason string) error {
	field := strings.Trim(o.path+"."+fmt.Sprintf("%.60s", name), ".")
	if field == "" {
		field = "body"
	}
	return &api.InvalidArgumentError{Field: field, Reason: reason}
}

func (o *object) fail(name, reason string) { o.failWith(o.fault(name, reason)) }

// failWith keeps the first fault.
func (o *object) failWith(err error) {
	if o.err == nil {
		o.err = err
	}
}

// optional takes a member that may be absent; null is absent too. Then, and when
// the member is bad, it returns the zero value and false.
func optional[T any](o *object, name string) (T, bool) {
	var v, zero T
	raw, there := o.members[name]
	delete(o.members, name)
	if !there || string(raw) == "null" {
		return zero, false
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		o.fail(name, badValue(err, any(zero)))
		return zero, false
	}
	return v, true
}

// required takes a member that must be there.
func required[T any](o *object, name string) T {
	v, ok := optional[T](o, name)
	if !ok {
		o.fail(name, "is required")
	}
	return v
}

// orZero is optional for a member whose absence is its zero value.
func orZero[T any](o *object, name string) T {
	v, _ := optional[T](o, name)
	return v
}

// finish returns the first fault, once every known member is taken. A name that isn't
// known comes before any other: a misspelt member is both unknown and missing.
func (o *object) finish() error {
	if o.strict && len(o.members) > 0 {
		return o.fault(slices.Min(slices.Collect(maps.Keys(o.members))), "is not known")
	}
	return o.err
}

// badValue says what is wrong with a member that should have been like want.
func badValue(err error, want any) string {
	if argument, ok := errors.AsType[*api.InvalidArgumentError](err); ok {
		return argument.Reason
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%.40s is not %s", wrong.Value, typeName(want))
	}
	return err.Error()
}

func typeName(v any) string {
	switch v.(type) {
	case int32:
		return "a 32-bit integer"
	case int64:
		return "a 64-bit integer"
	case bool:
		return "true or false"
	case []json.RawMessage:
		return "an array"
	}
	return "a string"
}
