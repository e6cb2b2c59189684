// Package rlmmtest is what the tests of several packages run against: an embedded
// broker with processors and managers on it, events to publish there, a raw look at the
// topics, and the check that the table is what the metadata topic says.
//
// Everything is on loopback and in the test's own folders, and ends with the test.
package rlmmtest
