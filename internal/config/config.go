package config

import (
	"slices"
	"strconv"
	"time"

	"github.com/tieredlog/rlmm/internal/secret"
)

// Options is where a configuration comes from.
type Options struct {
	// File is the properties file, CommandConfig another of which only the connection's
	// keys are taken, before those of File. Both may be "".
	File, CommandConfig string
	// Environ is as of os.Environ.
	Environ []string
	// Flags are the flags that were given, by name.
	Flags map[string]string
}

// Config is the effective configuration.
type Config struct {
	sources []source
	unused  []given
}

// Load reads the configuration. The error is an [*Error] with every fault; the config is of
// use all the same, without what was at fault.
func Load(o Options) (*Config, error) {
	var r reader
	r.flags(o.Flags)
	r.environment(o.Environ)
	if o.CommandConfig != "" {
		r.file(o.CommandConfig, func(k Key) bool { return k.Group == Connection })
	}
	if o.File != "" {
		r.file(o.File, nil)
	}
	return &Config{r.sources, r.unused}, errorOf(sorted(r.faults))
}

// sorted puts the faults in the order of where they are; those of a file stay in its order.
func sorted(faults []Fault) []Fault {
	rank := func(f Fault) int {
		switch {
		case len(f.Origin) > 1 && f.Origin[:2] == "--":
			return 0
		case len(f.Origin) > len(EnvironmentPrefix) && f.Origin[:len(EnvironmentPrefix)] == EnvironmentPrefix:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return rank(a) - rank(b) })
	return faults
}

// Setting is a key with its effective value.
type Setting struct {
	Key Key
	// Name is the key as it was given, with a prefix for some.
	Name string
	// Value is hidden when it is a secret.
	Value  string
	Origin Origin
}

// find returns what was given for a key, for a kind of clients or for all ("").
func (c *Config) find(name, clients string) (given, bool) {
	names := []string{name}
	if key := known()[name]; len(key.Prefixes) > 0 {
		names = []string{prefixed(common, name), name}
		if clients != "" {
			names = slices.Insert(names, 0, prefixed(clients, name))
		}
	}
	for _, s := range c.sources {
		for _, n := range names {
			for _, n := range []string{n, n + fileSuffix} {
				if g, ok := s[n]; ok {
					return g, true
				}
			}
		}
	}
	return given{}, false
}

// clientsOf is the prefix that the key is looked up with: keys of consumers are always
// looked up as a consumer's.
func clientsOf(k Key) string {
	if slices.Equal(k.Prefixes, consumers) {
		return "consumer"
	}
	return ""
}

// value returns the effective value; it panics for a name that isn't in the catalogue.
func (c *Config) value(name string) (string, Origin) {
	key, ok := known()[name]
	if !ok {
		panic("config: no key " + name)
	}
	if g, ok := c.find(name, clientsOf(key)); ok {
		return g.value, g.origin
	}
	return key.Default, Origin{Level: FromDefault}
}

// Text returns the value of a key, "" when there is none.
func (c *Config) Text(name string) string {
	v, _ := c.value(name)
	return v
}

// Origin returns where the value of a key comes from.
func (c *Config) Origin(name string) Origin {
	_, o := c.value(name)
	return o
}

// Int returns the value of a key of kind Int.
func (c *Config) Int(name string) int64 {
	n, _ := strconv.ParseInt(c.Text(name), 10, 64) // checked when it was read
	return n
}

// Duration returns the value of a key of kind Millis.
func (c *Config) Duration(name string) time.Duration {
	ms, _ := parseMillis(c.Text(name)) // checked when it was read
	return time.Duration(ms) * time.Millisecond
}

// Bool returns the value of a key of kind Bool.
func (c *Config) Bool(name string) bool { return c.Text(name) == "true" }

// List returns the parts of a value that is divided by commas.
func (c *Config) List(name string) []string { return splitList(c.Text(name)) }

// secret returns a secret or PEM of a kind of clients, given as text or by a file.
func (c *Config) secret(name, clients string) secret.Value {
	g, ok := c.find(name, clients)
	switch {
	case !ok:
		return secret.Value{}
	case isFileName(g.name):
		return secret.File(g.value)
	}
	return secret.Text(g.value)
}

// Settings lists every key of the catalogue with its effective value, and every key that was
// given for some clients only. Of a secret the value is hidden; of one in a file it is the
// file's name.
func (c *Config) Settings() []Setting {
	var all []Setting
	for _, k := range Catalogue() {
		s := Setting{Key: k, Name: k.Name, Value: k.Default, Origin: Origin{Level: FromDefault}}
		if g, ok := c.find(k.Name, clientsOf(k)); ok {
			s.Name, s.Value, s.Origin = g.name, shown(k, g), g.origin
		}
		all = append(all, s)
		all = append(all, c.ownSettings(k)...)
	}
	return all
}

// ownSettings lists what kinds of clients have of their own.
func (c *Config) ownSettings(k Key) []Setting {
	var all []Setting
	for _, clients := range k.Prefixes {
		if clients == common || clients == clientsOf(k) {
			continue
		}
		if g, ok := c.find(k.Name, clients); ok && isPrefixed(g.name, clients) {
			all = append(all, Setting{k, g.name, shown(k, g), g.origin})
		}
	}
	return all
}

func shown(k Key, g given) string {
	if k.Kind == Secret && !isFileName(g.name) {
		return secret.Hidden
	}
	return g.value
}

// Unused lists what was given and has no meaning here.
func (c *Config) Unused() []Setting {
	var all []Setting
	for _, g := range c.unused {
		all = append(all, Setting{Name: g.name, Value: g.value, Origin: g.origin})
	}
	return all
}
