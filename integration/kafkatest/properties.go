package kafkatest

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// serverProperties returns the broker's server.properties: a node that is broker and
// controller, small, without delays that only a large cluster needs. Topics have a
// replica on each of up to three nodes and are writable without one of them.
func serverProperties(dir string, n node, listeners map[string]Listener, o options) string {
	replicas := min(len(n.voters), 3)
	properties := map[string]string{
		"process.roles":                            "broker,controller",
		"node.id":                                  strconv.Itoa(n.id),
		"controller.quorum.voters":                 strings.Join(n.voters, ","),
		"controller.listener.names":                "CONTROLLER",
		"inter.broker.listener.name":               "PLAINTEXT",
		"log.dirs":                                 filepath.Join(dir, "data"),
		"auto.create.topics.enable":                "false",
		"default.replication.factor":               strconv.Itoa(replicas),
		"min.insync.replicas":                      strconv.Itoa((replicas + 1) / 2),
		"offsets.topic.replication.factor":         strconv.Itoa(replicas),
		"offsets.topic.num.partitions":             "5",
		"transaction.state.log.replication.factor": strconv.Itoa(replicas),
		"transaction.state.log.min.isr":            strconv.Itoa((replicas + 1) / 2),
		"transaction.state.log.num.partitions":     "5",
		"group.initial.rebalance.delay.ms":         "0",
		"num.network.threads":                      "2",
		"num.io.threads":                           "4",
		// A broker that crashed is let in again when the session of its former life is over:
		// 9 s by default.
		"broker.session.timeout.ms":       "4000",
		"broker.heartbeat.interval.ms":    "500",
		"log.segment.delete.delay.ms":     "1000",
		"log.retention.check.interval.ms": "1000",
	}
	maps.Copy(properties, listenerProperties(n, listeners, o.protocols))
	if o.tiered {
		maps.Copy(properties, tieredProperties(dir))
	}
	maps.Copy(properties, o.properties)
	return render(properties)
}

func listenerProperties(n node, listeners map[string]Listener, protocols map[string]string) map[string]string {
	listen := []string{fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", n.port), fmt.Sprintf("CONTROLLER://127.0.0.1:%d", n.controller)}
	advertised := listen[:1:1]
	secured := []string{"PLAINTEXT:PLAINTEXT", "CONTROLLER:" + cmp.Or(protocols["CONTROLLER"], "PLAINTEXT")}
	for _, name := range slices.Sorted(maps.Keys(listeners)) {
		listen = append(listen, name+"://"+listeners[name].Address)
		advertised = append(advertised, name+"://"+listeners[name].Advertised)
		secured = append(secured, name+":"+cmp.Or(protocols[name], "PLAINTEXT"))
	}
	return map[string]string{
		"listeners": strings.Join(listen, ","), "advertised.listeners": strings.Join(advertised, ","),
		"listener.security.protocol.map": strings.Join(secured, ","),
	}
}

func tieredProperties(dir string) map[string]string {
	return map[string]string{
		"remote.log.storage.system.enable":                         "true",
		"remote.log.storage.manager.class.name":                    "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
		"remote.log.storage.manager.impl.prefix":                   "rsm.config.",
		"rsm.config.dir":                                           filepath.Join(dir, "remote"),
		"remote.log.metadata.manager.listener.name":                "PLAINTEXT",
		"rlmm.config.remote.log.metadata.topic.replication.factor": "1",
		"rlmm.config.remote.log.metadata.topic.min.isr":            "1",
		"remote.log.manager.task.interval.ms":                      "500",
	}
}

func render(properties map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		fmt.Fprintf(&b, "%s=%s\n", key, properties[key])
	}
	return b.String()
}
