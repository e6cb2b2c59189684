// Package check looks for what is wrong in the rows of one metadata partition: whether the
// rows are ones that events make, whether package index answers from them as a plain scan
// of them does, and what they tell of the remote log: gaps, overlaps and what was left
// behind.
//
// It reads rows only, no Kafka and no clock but the one it is given, so that tests, an
// offline command and a running manager can use it alike. What it finds comes in the order
// of the rows' keys, and the same rows give the same report.
package check
