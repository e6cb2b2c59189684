// Package config is the configuration of every command: one catalogue of keys, from which
// files, environment and flags are read, checked and shown, and the documentation is made.
//
// A flag wins over the environment, that over the file, that over the default. The file is
// a Kafka-style properties file, or a broker's server.properties as it is. Unknown keys are
// faults; all faults are reported at once, each with where it was found; no fault shows a
// secret.
package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what a key's value is.
type Kind string

// The kinds of values, as the documentation names them.
const (
	Text    Kind = "text"
	Hosts   Kind = "host:port, ..."
	List    Kind = "list"
	Bool    Kind = "true or false"
	Int     Kind = "whole number"
	Millis  Kind = "ms, or a duration like 30s"
	PEM     Kind = "PEM"
	Secret  Kind = "secret"
	Address Kind = "host:port"

	Loopback   Kind = "host:port on loopback"
	Partitions Kind = "all, or numbers like 0,3,7"
)

// Group is a part of the configuration.
type Group string

// The groups, in the order in which they are shown.
const (
	Connection Group = "Connection"
	Fleet      Group = "Fleet"
	Topics     Group = "Topics"
	State      Group = "Local state"
	HTTP       Group = "HTTP"
	Asking     Group = "HTTP client (--server)"
	Log        Group = "Log"
)

// Groups lists the groups in the order in which they are shown.
func Groups() []Group { return []Group{Connection, Fleet, Topics, State, HTTP, Asking, Log} }

// Key is one setting.
type Key struct {
	// Name is the key in a file: Kafka's where Kafka has one.
	Name    string
	Group   Group
	Kind    Kind
	Default string
	// Doc is a sentence or two.
	Doc string
	// Values are the values that are allowed; any when nil.
	Values []string
	// Min is the least value of an Int or Millis.
	Min int64
	// Flag is the command line flag that sets it; "" when there is none.
	Flag string
	// Prefixes are those of remote.log.metadata under which the key may be given for some
	// clients only.
	Prefixes []string
	// MayBeEmpty lets an empty value through, which then means something.
	MayBeEmpty bool
}

// fileSuffix makes a key that names a file with the value.
const fileSuffix = ".file"

// HasFile tells whether NAME.file may name a file that holds the value: it is read again
// when it is used, so that secrets and certificates rotate.
func (k Key) HasFile() bool { return k.Kind == Secret || k.Kind == PEM }

// EnvironmentPrefix begins the names of the environment variables.
const EnvironmentPrefix = "RLMM_"

// Environment returns the variable that sets a key: ssl.key.password is
// RLMM_SSL_KEY_PASSWORD.
func Environment(name string) string {
	return EnvironmentPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}

// check returns what is wrong with a value, "" when nothing is. Values that may be secret
// are not shown.
func (k Key) check(value string) string {
	switch {
	case value == "" && k.MayBeEmpty:
		return ""
	case value == "":
		return "must not be empty"
	case k.Values != nil && !slices.Contains(k.Values, value):
		return fmt.Sprintf("%q is none of %s", value, strings.Join(k.Values, ", "))
	}
	switch k.Kind {
	case Bool:
		if value != "true" && value != "false" {
			return fmt.Sprintf("%q is neither true nor false", value)
		}
	case Int:
		return k.checkNumber(strconv.ParseInt(value, 10, 64))
	case Millis:
		return k.checkNumber(parseMillis(value))
	case Hosts:
		return checkHosts(value)
	case Address:
		return checkAddress(value)
	case Loopback:
		return text(CheckLoopback(value))
	case Partitions:
		_, err := ParsePartitions(value)
		return text(err)
	}
	return ""
}

func (k Key) checkNumber(n int64, err error) string {
	switch {
	case err != nil:
		return "must be a number: " + string(k.Kind)
	case n < k.Min:
		return fmt.Sprintf("must be %d or more, not %d", k.Min, n)
	}
	return ""
}

// parseMillis reads Kafka's plain milliseconds, or a Go duration.
func parseMillis(value string) (int64, error) {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n, nil
	}
	d, err := time.ParseDuration(value)
	return d.Milliseconds(), err
}

func splitList(value string) []string {
	parts := strings.Split(value, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

func checkHosts(value string) string {
	hosts := splitList(value)
	for _, h := range hosts {
		if host, port, err := net.SplitHostPort(h); err != nil || host == "" || checkPort(port) != "" {
			return fmt.Sprintf("%q is no host:port", h)
		}
	}
	if len(hosts) == 0 {
		return "must not be empty"
	}
	return ""
}

func checkAddress(value string) string {
	if _, port, err := net.SplitHostPort(value); err != nil || checkPort(port) != "" {
		return fmt.Sprintf("%q is no host:port", value)
	}
	return ""
}

// CheckLoopback refuses a value of [Loopback] that others can reach, or that is no address.
func CheckLoopback(addr string) error {
	if fault := checkAddress(addr); fault != "" {
		return errors.New(fault)
	}
	host, _, _ := net.SplitHostPort(addr) // checkAddress minds it
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%q is not on loopback", addr)
	}
	return nil
}

// ParsePartitions reads a value of [Partitions]: the numbers as they are given, nil for
// all.
func ParsePartitions(value string) ([]int32, error) {
	if value == "all" {
		return nil, nil
	}
	var numbers []int32
	for part := range strings.SplitSeq(value, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is neither all nor numbers like 0,3,7", value)
		}
		numbers = append(numbers, int32(n))
	}
	return numbers, nil
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func checkPort(port string) string {
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "no port"
	}
	return ""
}
