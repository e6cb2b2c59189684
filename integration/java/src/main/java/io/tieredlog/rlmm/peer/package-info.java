/**
 * Drives Apache Kafka's own remote log metadata manager (KIP-405), so that tests can compare its
 * answers and its records with those of another implementation on the same topic.
 *
 * <p>Data goes to standard output as JSON, one line each; talk goes to standard error. Exit code 0
 * means that every line of the answer is there.
 */
package io.tieredlog.rlmm.peer;
