// Package api is the contract of a remote log metadata manager (KIP-405) in Go:
// the [RemoteLogMetadataManager] interface, its data types, the two state
// machines and the typed errors.
//
// It is pure: it knows nothing of Kafka clients, goka or storage. The data types
// are values; what they share underneath (leader epochs, custom metadata) can't be
// changed, so a value that a manager returned is the caller's to keep and may be
// read from any goroutine.
//
// Every error that a method documents is matched with [errors.Is] against a
// sentinel (ErrNotReady, ErrSegmentNotFound, …) and carries its details in a type
// of the matching name ([NotReadyError], [SegmentNotFoundError], …) for
// [errors.As].
package api
