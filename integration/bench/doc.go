// Package bench measures rlmm next to Kafka's own TopicBasedRemoteLogMetadataManager:
// on one fresh broker, in turn, with the same work. `make bench-peer` runs it;
// docs/performance.md says how to read what comes out.
//
// Each side works in processes of its own, as users run it: the fleet is `rlmm
// processor`, and a broker's manager is the program in driver for ours and the Java
// peer in integration/java for Kafka's. Both programs read a [Request] a line and
// answer with an [Answer] a line.
package bench
