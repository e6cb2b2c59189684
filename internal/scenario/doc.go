// Package scenario holds small scripts of events and queries, and runs them against any
// [api.RemoteLogMetadataManager]: the fold and the index on the one hand, a whole manager
// on the other. README.md is their format.
//
// The scripts say what our answer is. Where Kafka's own manager answers otherwise, a
// comment beside the line says so and why.
package scenario
