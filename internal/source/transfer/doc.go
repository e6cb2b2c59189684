// Package transfer takes the state of a metadata topic to another cluster: an export is
// lines of JSON, and a plan is the ordinary events that make the same state on a topic
// that is empty. It is pure.
//
// An export holds what answers depend on and nothing else: every segment that isn't
// deleted and the order in which copies were finished, headless deletions, how far
// partitions' deletions are, and of deleted segments the markers that hold an epoch's
// highest offset. It holds no offsets of the metadata topic and no metadata partitions,
// which are others on another cluster. So the same state gives the same bytes, from
// whichever source, and an export of what was made by its plan is the same again.
//
// What a row doesn't keep isn't there either: of each segment's events only the last one's
// broker and time.
package transfer
