// Package rest serves a [api.RemoteLogMetadataManager] over HTTP and JSON, and is
// its client: [NewHandler] and [Client] map the contract one to one.
//
//	GET   /v1/partitions/{topicId}/{partition}/segment?epoch=E&offset=O
//	GET   /v1/partitions/{topicId}/{partition}/segments[?epoch=E]
//	GET   /v1/partitions/{topicId}/{partition}/highest-offset?epoch=E
//	GET   /v1/partitions/{topicId}/{partition}/size?epoch=E
//	GET   /v1/partitions/{topicId}/{partition}/next-txn-segment?epoch=E&offset=O
//	GET   /v1/partitions/{topicId}/{partition}/caught-up
//	POST  /v1/partitions/{topicId}/{partition}/segments
//	PATCH /v1/partitions/{topicId}/{partition}/segments/{segmentId}
//	PUT   /v1/partitions/{topicId}/{partition}/delete-state
//	GET   /v1/partitions
//	GET   /healthz  /readyz  /
//
// Ids are Kafka's base64 text; the usual UUID text is read too. A path names a
// partition by its topic id alone and a body may leave the topic's name out: the
// manager then gets an empty name and completes it from what it knows.
//
// Every answer is JSON. One that isn't 2xx is an [Error]: the contract's errors each
// have a status and a reason, with members enough for the client to return the same
// typed error. A read that finds nothing is 404 with reason no_segment, which to the
// client is no error. A query parameter or a member of a body that a route doesn't
// know is refused, so that a slip of the pen never means "all".
package rest
