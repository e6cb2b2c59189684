// Package codec translates between bytes and the data types of package api: Kafka's
// record format of the metadata topic, byte for byte; the rows and keys of rlmm's
// table; and Kafka's choice of the metadata partition, also as a hasher for goka.
//
// Decoders never panic and allocate no more than a small multiple of their input,
// whatever they are given.
package codec
