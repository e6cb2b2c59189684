package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Level is how a value was given.
type Level string

// The levels, each wins over those behind it.
const (
	FromFlag        Level = "flag"
	FromEnvironment Level = "environment"
	FromFile        Level = "file"
	FromDefault     Level = "default"
)

// Origin is where a value comes from.
type Origin struct {
	Level Level
	// Where is --flag, the variable, or file:line; "" of a default.
	Where string
}

// String is where, or "default".
func (o Origin) String() string {
	if o.Where == "" {
		return string(o.Level)
	}
	return o.Where
}

// given is a value as it was given.
type given struct {
	name, value string // name without a broker's prefix
	origin      Origin
}

// source is what one place gives, by name.
type source map[string]given

// reader collects sources and their faults.
type reader struct {
	sources []source // the first that has a value wins
	faults  []Fault
	unused  []given
}

// add checks what a place gives and takes it up. shown is the name as it is there.
func (r *reader) add(s source, g given, shown string) {
	key, ok := known()[g.name]
	switch {
	case ok:
		if strings.HasSuffix(g.name, fileSuffix) {
			key = Key{Kind: Text}
		}
		if problem := key.check(g.value); problem != "" {
			r.fault(g.origin, shown, problem)
			return
		}
		s[g.name] = g
	case isUnused(g.name):
		r.unused = append(r.unused, g)
	default:
		prefix := strings.TrimSuffix(shown, g.name)
		r.fault(g.origin, shown, unknown(shown, withPrefix(prefix, knownNames())))
	}
}

func (r *reader) fault(o Origin, key, problem string) {
	r.faults = append(r.faults, Fault{o.Where, key, problem})
}

// keep adds a source once all of it is read.
func (r *reader) keep(s source) {
	for name, g := range s {
		if _, both := s[name+fileSuffix]; both {
			r.fault(g.origin, name, "is given both itself and as "+name+fileSuffix)
		}
	}
	r.sources = append(r.sources, s)
}

func knownNames() []string {
	names := slices.Clone(unused)
	for name := range known() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func withPrefix(prefix string, names []string) []string {
	if prefix == "" {
		return names
	}
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = prefix + name
	}
	return all
}

// flags takes what the command line gives, by the flags' names.
func (r *reader) flags(flags map[string]string) {
	s := source{}
	for flag, value := range flags {
		if key, ok := KeyOf(flag); ok {
			r.add(s, given{key.Name, value, Origin{FromFlag, "--" + flag}}, "--"+flag)
		}
	}
	r.keep(s)
}

// ConfigVariable names the file when --config doesn't.
const ConfigVariable = EnvironmentPrefix + "CONFIG"

// environment takes RLMM_* variables. An empty one is as none. One that is nearly a key is a
// fault; others aren't ours: Kubernetes, for one, gives RLMM_PORT for a service rlmm.
func (r *reader) environment(environ []string) {
	names := map[string]string{ConfigVariable: ""}
	for name := range known() {
		names[Environment(name)] = name
	}
	variables := make([]string, 0, len(names))
	for v := range names {
		variables = append(variables, v)
	}
	s := source{}
	for _, e := range environ {
		variable, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(variable, EnvironmentPrefix) || value == "" || variable == ConfigVariable {
			continue
		}
		origin := Origin{FromEnvironment, variable}
		if name, ok := names[variable]; ok {
			r.add(s, given{name, value, origin}, variable)
		} else if match := closest(variable, variables); match != "" {
			r.fault(origin, variable, "unknown variable; did you mean "+match+"?")
		}
	}
	r.keep(s)
}

// closest is the variable within two edits: the environment has variables of others.
func closest(variable string, variables []string) string {
	if match := nearest(variable, variables); match != "" && levenshtein.ComputeDistance(variable, match) <= 2 {
		return match
	}
	return ""
}

// file takes a properties file. only is nil, or tells which keys to take.
func (r *reader) file(path string, only func(Key) bool) {
	content, err := os.ReadFile(path)
	if err != nil {
		r.faults = append(r.faults, Fault{Problem: err.Error()})
		return
	}
	all := r.readable(path, parseProperties(content))
	if b, ok := brokerOf(all); ok {
		r.broker(path, b)
		return
	}
	s := source{}
	for _, p := range all {
		if key, ok := known()[p.key]; !ok || only == nil || only(key) {
			r.add(s, given{p.key, p.value, fileOrigin(path, p.line)}, p.key)
		}
	}
	r.keep(s)
}

func fileOrigin(path string, line int) Origin {
	return Origin{FromFile, fmt.Sprintf("%s:%d", path, line)}
}

// readable leaves out the lines that can't be read, each a fault.
func (r *reader) readable(path string, all []property) []property {
	return slices.DeleteFunc(all, func(p property) bool {
		if p.key == "" {
			r.fault(fileOrigin(path, p.line), "", "the line can't be read as a property")
		}
		return p.key == ""
	})
}
