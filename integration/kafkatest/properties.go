package kafkatest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// serverProperties returns the broker's server.properties: one node that is broker and
// controller, small, without delays that only a cluster needs.
func serverProperties(dir string, port, controllerPort int, o options) string {
	properties := map[string]string{
		"process.roles":                            "broker,controller",
		"node.id":                                  "1",
		"controller.quorum.voters":                 fmt.Sprintf("1@127.0.0.1:%d", controllerPort),
		"listeners":                                fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", port, controllerPort),
		"advertised.listeners":                     fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", port),
		"listener.security.protocol.map":           "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"controller.listener.names":                "CONTROLLER",
		"inter.broker.listener.name":               "PLAINTEXT",
		"log.dirs":                                 filepath.Join(dir, "data"),
		"auto.create.topics.enable":                "false",
		"default.replication.factor":               "1",
		"offsets.topic.replication.factor":         "1",
		"offsets.topic.num.partitions":             "5",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
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
	if o.tiered {
		maps.Copy(properties, tieredProperties(dir))
	}
	maps.Copy(properties, o.properties)
	return render(properties)
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
