// Package apitest helps to test what uses or implements the contract of package api.
//
// [Manager] is a plain manager in memory, for tests of code that uses one: no Kafka, no
// files, and hooks that make it not ready, not assigned or failing.
//
// [Run] is a suite of tests that any [api.RemoteLogMetadataManager] can be run against.
package apitest
