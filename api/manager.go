package api

import "context"

// RemoteLogMetadataManager stores and queries the metadata of remote log segments
// (KIP-405, org.apache.kafka.server.log.remote.storage.RemoteLogMetadataManager).
//
// The rules that every implementation keeps:
//
//   - A segment is introduced by AddRemoteLogSegmentMetadata in state
//     CopySegmentStarted.
//   - Every later change is an UpdateRemoteLogSegmentMetadata that follows
//     [RemoteLogSegmentState.CanBecome].
//   - Only CopySegmentFinished segments are visible to the queries by offset and
//     epoch.
//
// Reads. A partition without segments, known or not, and a partition whose deletion
// is finished give none: false, an empty list, 0; never an error. Every read fails
// with ErrNotReady while the manager hasn't caught up after it took the partition
// on, with ErrNotAssigned (an ErrNotReady too) when it doesn't consume it, with
// ErrInvalidArgument for a bad partition, and with ErrIO when its store fails. Reads
// go on after a shutdown.
//
// Mutations return where the event lies on the metadata topic, also when the event
// was rejected; [NotPublished] when it isn't there or can't be told to be. Beside the
// errors named at each, they give
//
//   - ErrInvalidArgument, ErrNotReady, ErrNotAssigned, ErrClosed, ErrIO (Kafka refused the
//     event or was never reached): nothing was published;
//   - ErrUnacknowledged: sent, and no answer came; the event may or may not be published;
//   - ErrTimeout: published, and not yet applied when the wait ended, by the manager's own
//     limit, the context, a shutdown, or because the partition isn't assigned any more;
//   - ErrOutcomeUnknown: published and applied, and its outcome can't be told any more.
//
// To try again after any of them is safe; an add that finds its earlier try in says so
// ([InvalidAddError.AlreadyAdded]).
type RemoteLogMetadataManager interface {
	// AddRemoteLogSegmentMetadata records a segment whose copy has begun. The state
	// must be CopySegmentStarted and the id must not be known: ErrInvalidAdd.
	AddRemoteLogSegmentMetadata(ctx context.Context, metadata RemoteLogSegmentMetadata) (Position, error)

	// UpdateRemoteLogSegmentMetadata moves a known segment to its next state:
	// ErrSegmentNotFound when it isn't known, ErrInvalidSegmentTransition when the
	// state may not follow. To repeat the present state is allowed.
	UpdateRemoteLogSegmentMetadata(ctx context.Context, update RemoteLogSegmentMetadataUpdate) (Position, error)

	// PutRemotePartitionDeleteMetadata records a step of a partition's deletion:
	// ErrInvalidPartitionDeleteTransition when it may not follow. After
	// DeletePartitionFinished the partition has no segments.
	PutRemotePartitionDeleteMetadata(ctx context.Context, metadata RemotePartitionDeleteMetadata) (Position, error)

	// RemoteLogSegmentMetadata finds the finished segment that carries the epoch and
	// contains the offset within it. Of several, the one whose range within the epoch
	// starts last, and of those the one first finished last. A negative offset is
	// ErrInvalidArgument.
	RemoteLogSegmentMetadata(ctx context.Context, tip TopicIdPartition, leaderEpoch int32, offset int64) (RemoteLogSegmentMetadata, bool, error)

	// HighestOffsetForEpoch returns the highest offset that the remote tier holds for
	// the epoch: the greatest end offset of the finished segments that carry it.
	HighestOffsetForEpoch(ctx context.Context, tip TopicIdPartition, leaderEpoch int32) (int64, bool, error)

	// ListRemoteLogSegments returns the partition's segments in states
	// CopySegmentStarted, CopySegmentFinished and DeleteSegmentStarted, by start
	// offset, then id.
	ListRemoteLogSegments(ctx context.Context, tip TopicIdPartition) ([]RemoteLogSegmentMetadata, error)

	// ListRemoteLogSegmentsByEpoch returns those of ListRemoteLogSegments that carry
	// the epoch, in the same order.
	ListRemoteLogSegmentsByEpoch(ctx context.Context, tip TopicIdPartition, leaderEpoch int32) ([]RemoteLogSegmentMetadata, error)

	// RemoteLogSize returns the bytes of the finished segments that carry the epoch.
	RemoteLogSize(ctx context.Context, tip TopicIdPartition, leaderEpoch int32) (int64, error)

	// NextSegmentWithTxnIndex finds, among the finished segments that carry the epoch,
	// may have a transaction index and end, within the epoch, at or after the offset,
	// the one whose range within the epoch starts first, then by id. Gaps don't end
	// the search. A negative offset is ErrInvalidArgument.
	NextSegmentWithTxnIndex(ctx context.Context, tip TopicIdPartition, leaderEpoch int32, offset int64) (RemoteLogSegmentMetadata, bool, error)

	// CaughtUp tells whether every event of the partition that was on the metadata
	// topic when the call began is applied: a read that follows a true answer sees
	// what others had published. False means that the local view may be stale, or
	// that this manager doesn't consume the partition. ErrNotReady while it catches
	// up after it took the partition on; ErrIO when the end of the topic can't be
	// read.
	CaughtUp(ctx context.Context, tip TopicIdPartition) (bool, error)

	// IsReady tells whether reads of the partition are answered now.
	IsReady(ctx context.Context, tip TopicIdPartition) bool
}

// TopicBasedRemoteLogMetadataManager is a manager on the topic
// __remote_log_metadata whose process chooses which metadata partitions it consumes.
type TopicBasedRemoteLogMetadataManager interface {
	RemoteLogMetadataManager

	// ReconcileAssignment makes the desired set of metadata partitions the assigned
	// one: it starts those that are new, from what is stored of them or from the
	// beginning, and stops those that aren't wanted. It doesn't wait for them to be
	// ready. Duplicates are one; a partition out of range is ErrInvalidArgument and
	// nothing changes; after a shutdown it is ErrClosed. When the end offset of a new
	// partition can't be had the partition stays not ready and is tried again by
	// itself. Safe to call concurrently: calls run one after the other.
	ReconcileAssignment(ctx context.Context, desired []int32) error

	// AssignedMetadataPartitions returns the assigned partitions, ascending.
	AssignedMetadataPartitions() []int32

	// CommittedOffset returns the greatest offset of the metadata partition that the
	// local store holds; −1 when it is out of range or nothing is held.
	CommittedOffset(metadataPartition int32) int64

	// Shutdown stops consuming and publishing. Reads go on from what was applied;
	// mutations fail with ErrClosed, those that wait with ErrTimeout, or with
	// ErrUnacknowledged. It may be called more than once.
	Shutdown()

	// ShutdownAndFlush is Shutdown that waits until all that was applied is on disk,
	// or for the context.
	ShutdownAndFlush(ctx context.Context) error
}
