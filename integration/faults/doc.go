// Package faults breaks things under load, on a real Kafka, and then checks that
// nothing was lost, doubled or answered falsely. Each test prints its seed and takes
// one from RLMM_SEED; RLMM_FAULT_SECONDS bounds how long each one runs (30 by default).
// From 120 on it is the long form: faults are made at least as often as promised.
// The tests of disks, on Linux, need the right to mount.
//
// What is checked: every record of the input has exactly one answer in the table; the
// table, the stores and the views come to what a brute-force fold comes to
// ([FoldAll], [CheckTable]); and everything that a manager said meanwhile was true
// ([Recorder]). An answer is true that is the brute-force one at an offset between what
// the manager had to have applied when it was asked and what it can have applied when it
// answered. The former grows with all that it or Kafka has told: what was on the topic
// when it was started, its earlier answers, outcomes and CaughtUp.
package faults
