// Package metrics shows Prometheus what a process does. Gauges and counters read the
// process's own state when they are scraped; only durations are noted as they happen.
//
// Everything is registered with the registerer that is given, never with the global one.
// What consumes metadata partitions has the label role, "processor" or "view", since one
// process may run both. Nothing is told of each metadata partition unless that is asked for:
// there are fifty, and so many series of each metric.
package metrics
