package config

import (
	"fmt"
	"net"
	"strings"
)

// The settings of a broker's RemoteLogManagerConfig that say where the manager's are.
const (
	managerKeys   = "remote.log.metadata.manager."
	prefixKey     = managerKeys + "impl.prefix"
	listenerKey   = managerKeys + "listener.name"
	defaultPrefix = "rlmm.config."
)

// brokerFile is a broker's server.properties.
type brokerFile struct {
	prefix string
	all    []property
	last   map[string]property // of each key the last, which counts
}

// brokerOf tells whether the properties are a broker's: they have keys with the prefix of
// the manager's settings, or keys that only a broker has.
func brokerOf(all []property) (brokerFile, bool) {
	b := brokerFile{defaultPrefix, all, map[string]property{}}
	is := false
	for _, p := range all {
		b.last[p.key] = p
		switch {
		case p.key == "process.roles", p.key == "broker.id", p.key == "node.id", strings.HasPrefix(p.key, managerKeys):
			is = true
		}
	}
	if p, ok := b.last[prefixKey]; ok {
		b.prefix = p.value
	}
	for _, p := range all {
		is = is || strings.HasPrefix(p.key, b.prefix)
	}
	return b, is
}

// broker takes the prefixed keys, and below them the connection's: of the listener that
// remote.log.metadata.manager.listener.name names, host, port and protocol, as Kafka gives
// them to its manager; and the broker's own bootstrap.servers, security.protocol, sasl.* and
// ssl.* as far as they are keys of a connection. All else is the broker's.
func (r *reader) broker(path string, b brokerFile) {
	s, connection := source{}, source{}
	for _, p := range b.all {
		origin := fileOrigin(path, p.line)
		if name, ok := strings.CutPrefix(p.key, b.prefix); ok {
			r.add(s, given{name, p.value, origin}, p.key)
		} else if key, ok := known()[p.key]; ok && key.Group == Connection && key.Name == p.key && p.value != "" {
			r.add(connection, given{p.key, p.value, origin}, p.key)
		}
	}
	r.keep(s)
	r.listener(connection, path, b)
	r.keep(connection)
}

// listener adds where the named listener is and how it is secured.
func (r *reader) listener(s source, path string, b brokerFile) {
	name, ok := b.last[listenerKey]
	if !ok {
		return
	}
	for _, key := range []string{"advertised.listeners", "listeners"} {
		listeners, ok := b.last[key]
		if !ok {
			continue
		}
		for _, l := range splitList(listeners.value) {
			found, address, _ := strings.Cut(l, "://")
			if strings.EqualFold(found, name.value) {
				r.add(s, given{"bootstrap.servers", reachable(address), fileOrigin(path, listeners.line)}, key)
				r.add(s, given{"security.protocol", b.protocol(name.value), fileOrigin(path, name.line)}, listenerKey)
				return
			}
		}
	}
	r.fault(fileOrigin(path, name.line), listenerKey, fmt.Sprintf("no listener %s in advertised.listeners or listeners", name.value))
}

// reachable is a listener's address for a client: one without a host is on this host.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// protocol is the listener's in listener.security.protocol.map; by default a listener is
// named for its protocol.
func (b brokerFile) protocol(listener string) string {
	for _, entry := range splitList(b.last["listener.security.protocol.map"].value) {
		if name, protocol, _ := strings.Cut(entry, ":"); strings.EqualFold(name, listener) {
			return strings.ToUpper(protocol)
		}
	}
	return strings.ToUpper(listener)
}
