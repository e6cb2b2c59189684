// Package rest serves a [api.RemoteLogMetadataManager] over HTTP and JSON, and is
// its client: [NewHandler] and [Client] map the contract one to one.
//
//	GET   /v1/partitions/{topicId}/{partition}/segment?epoch=E&offset=O
//	GET   /v1/partitions/{topicId}/{partition}/segments[?epoch=E][&state=S][&limit=N][&page_token=T]
//	GET   /v1/partitions/{topicId}/{partition}/highest-offset?epoch=E
//	GET   /v1/partitions/{topicId}/{partition}/size?epoch=E
//	GET   /v1/partitions/{topicId}/{partition}/next-txn-segment?epoch=E&offset=O
//	GET   /v1/partitions/{topicId}/{partition}/caught-up
//	POST  /v1/partitions/{topicId}/{partition}/segments
//	PATCH /v1/partitions/{topicId}/{partition}/segments/{segmentId}
//	PUT   /v1/partitions/{topicId}/{partition}/delete-state
//	GET   /v1/partitions
//	GET   /v1/rows[?topic=NAME-OR-ID][&partition=P]
//	GET   /v1/status
//	GET   /v1/metadata-partitions
//	GET   /v1/metadata-partitions/{n}/status
//	PUT   /v1/metadata-partitions/{n}/pause
//	PUT   /v1/metadata-partitions/{n}/resume
//	POST  /v1/metadata-partitions/{n}/restart
//	POST  /v1/metadata-partitions/{n}/rebuild
//	GET   /admin/loggers
//	PUT   /admin/loggers/{name}
//	GET   /v1/openapi.yaml
//	GET   /healthz  /readyz[?verbose]  /startupz  /metrics  /
//
// The document that [OpenAPI] returns has them all, with every answer; docs/http.md is made
// from it.
//
// Ids are Kafka's base64 text; the usual UUID text is read too. A path names a
// partition by its topic id alone and a body may leave the topic's name out: the
// manager then gets an empty name and completes it from what it knows.
//
// Every answer is JSON, but for a list that is asked for as lines, for the OpenAPI document,
// and for those without a body: like Kafka Connect the control routes answer 202 or 204. One that
// isn't 2xx is always JSON, an [Error]: the contract's errors each
// have a status and a reason, with members enough for the client to return the same
// typed error. A read that finds nothing is 404 with reason no_segment, which to the
// client is no error. A query parameter or a member of a body that a route doesn't
// know is refused, so that a slip of the pen never means "all".
//
// GET /v1/rows lists the rows of the table beneath, for tools: what the contract doesn't
// tell (deleted segments' markers, headless deletions, offsets) is there too. It can be
// asked for as lines, and has no pages.
//
// # Control
//
// The routes of a metadata partition, and of loggers, let people stop and start what this
// process does, as an [api.Controller] has it. They change no topic; [Config] has a switch
// for them. A process without views answers 404: the group of a processor gives it its
// metadata partitions.
//
// # Freshness
//
// The answer to a read of a partition has the header X-RLMM-Applied-Offset: it shows at
// least everything up to that offset of the metadata partition that
// X-RLMM-Metadata-Partition names. X-RLMM-Staleness-Ms is how long ago it was last known
// that nothing behind it was left to apply; 0 is now. /v1/status tells the same of every
// metadata partition.
//
// # Lists of segments
//
// The list comes by start offset, then id; state keeps one state, by Kafka's name
// (COPY_SEGMENT_FINISHED). Without a limit it is whole and shows one state of the
// partition. With a limit of 1 to 10,000 it is a page, and the member nextPageToken is
// there when there are more: page_token then begins the next page behind the last
// segment of this one. Pages are of the list as it is when each is asked for: what stays
// in the list comes once, whatever is added or deleted meanwhile. A token is for one
// partition, never expires, and is opaque; limit, epoch and state may change with it.
//
// A request whose Accept prefers application/x-ndjson gets the segments as lines, each a
// [Segment], as they are read. A page's token is in the header X-RLMM-Next-Page-Token
// then. A type that is neither is 406.
//
// What fails before the first segment is an ordinary [Error]. What fails after it cuts
// the connection: over HTTP/1.1 the last chunk is missing, over HTTP/2 the stream is
// reset, and a client library reports an unexpected end. Only an answer that ends in
// order is whole. Since HTTP/1.0 can't tell, lines aren't sent over it; a proxy between
// [Client] and server must speak HTTP/1.1 to both.
package rest
