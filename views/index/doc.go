// Package index answers the queries of one user partition from memory: what
// RemoteLogMetadataCache is to Kafka's own manager. It is built from rows of the
// table and kept up to date row by row; it knows nothing of Kafka, goka or storage.
//
// A [Partition] has one writer. Readers take a [Snapshot], which never changes: an
// update builds the next one, shares all but a few tree nodes with the one before, and
// swaps a pointer. So readers wait for nobody, an answer never mixes two states, and an
// event costs O(log n), however many segments there are.
//
// There is one data structure, an immutable B+tree, in three orders: the segments by start
// offset, and for each leader epoch its segments by start offset and its finished segments
// by where they begin within the epoch. The last one carries in each branch how far the
// ranges below it reach, so that a look-up finds the right one among ranges that overlap, or
// none, in O(log n). No order goes by id: who changes a row knows the row that was there, and
// with it where the segment lies.
package index
