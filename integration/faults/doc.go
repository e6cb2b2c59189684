// Package faults breaks things under load, on a real Kafka, and then checks that
// nothing was lost, doubled or answered falsely. Each test prints its seed and takes
// one from RLMM_SEED; RLMM_FAULT_SECONDS bounds how long each one runs (30 by default).
package faults
