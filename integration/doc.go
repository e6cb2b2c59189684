// Package integration tests rlmm as users run it: against a real Apache Kafka, with
// the fleet in processes of its own, and next to Kafka's own remote log metadata
// manager. The tests have the build tag integration; `make integration` runs them.
package integration
