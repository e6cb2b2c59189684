// Package store keeps one partition of the table in LevelDB, for goka.
//
// The rule that everything else stands on: what is on disk never runs ahead of the
// table. A change waits in memory, where reads see it, until its offset in the table
// is known; then row, table offset and applied input offset go to disk in one batch.
// After a kill at any byte the store is exactly the table up to its own offset.
//
// A change's offset becomes known in two ways: while the table is read (recovery, a
// view) goka reports it after the callback staged the change ([Store.SetOffset]); of
// the owner's own writes the table's writer reports it ([Store.Ack], after
// [Store.GoLive]). goka's own Set and Delete do nothing: they come before the offset
// is known and are followed by the writer's Stage in the same call.
package store

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/filter"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"
)

// readBatch is how many of the records that are read go to disk together at most. What a
// kill loses of them is read again.
const readBatch = 500

// keptBatch is the size of a batch, in bytes, whose memory is used again.
const keptBatch = 128 << 10

// Keys of our own start with a zero byte; the table's keys never do.
var (
	positionKey = []byte("\x00position")
	identityKey = []byte("\x00identity")
)

// Change is what one table record does to the store.
type Change struct {
	// Key is the row's; an empty one changes no row.
	Key string
	// Value is the row's new value; nil deletes the row.
	Value []byte
	// Applied is the input offset behind the record; −1 leaves the applied offset.
	Applied int64
	// Time is when the record was written, in milliseconds since 1970.
	Time int64
	// Sum is the sum of the record, Input of the input record at Applied; 0 is unknown.
	Sum, Input uint32
}

type staged struct {
	value []byte
	seq   uint64 // of the change in the queue
}

// Store is one partition's rows. Reads are safe from any goroutine; there is one
// writer at a time.
type Store struct {
	db    *leveldb.DB
	files storage.Storage // what db stands on
	dir   string
	// corrupt is set when something on disk turned out to be unreadable.
	corrupt atomic.Bool
	// doubted is set when some rows may be wrong: see Doubt.
	doubted atomic.Bool

	mu        sync.RWMutex
	committed Position // on disk
	position  Position // with what waits in memory
	queue     []Change // not on disk yet, oldest first
	known     int      // of queue, how many have an offset from SetOffset
	head      uint64   // sequence number of queue[0]
	overlay   map[string]staged
	batch     leveldb.Batch // empty but in commit
	following bool          // recovered
	live      bool          // the owner's: offsets come from Ack
	closed    bool
	broken    error // why nothing more is written; LevelDB refuses all after a failed write
	fresh     freshness
	keys      *keySet // all that there are or were rows of, and maybe more; nil when that isn't known
}

// Options are LevelDB's; the zero value is right for one of fifty stores.
type Options struct {
	// WriteBuffer is in bytes; 1 MiB when 0. LevelDB may hold two of them, and takes
	// their memory at once.
	WriteBuffer int
	// FollowBuffer is WriteBuffer for a store that is near the table's end when it is
	// opened, and so has little to write at a time, unless that is less; WriteBuffer
	// when 0.
	FollowBuffer int
	// BlockCache is in bytes; 8 MiB when 0. It holds only what was read. With each row that
	// LevelDB looks for it reads the indexes of files, some 6 MB for a million rows: a cache
	// that doesn't hold those has them read again each time.
	BlockCache int
	// Storage opens what LevelDB stands on for a store's folder; the folder's files when
	// nil.
	Storage func(dir string) (storage.Storage, error)
}

// What Options has where it has nothing.
const (
	defaultBuffer = 1 << 20
	defaultCache  = 8 << 20
)

// following returns the options of a store that is near the table's end.
func (o Options) following() Options {
	o.WriteBuffer = cmp.Or(o.WriteBuffer, defaultBuffer)
	o.WriteBuffer = min(o.WriteBuffer, cmp.Or(o.FollowBuffer, o.WriteBuffer))
	return o
}

// What follows is for a store of hundreds of megabytes, and costs one of a few nothing. Ids
// come in no order, so what goes from one level to the next is merged with all that is there.
const (
	// levelZero is how many files of a write buffer each are merged into the first level at
	// once, and levelOne how many buffers that may hold, LevelDB's 10 MiB at least. The more
	// of both the less often a row is written again, and the more files a read looks at.
	levelZero, levelOne = 8, 32
	// slowAt and pauseAt are the files of level zero at which LevelDB holds writes back. They
	// pile up while levels behind it are merged, which takes longer than LevelDB thinks.
	slowAt, pauseAt = 20, 28
	// tableFile is the size of a file of rows, and keptOpen how many of them are kept open:
	// another one is opened again for each row that is read.
	tableFile, keptOpen = 4 << 20, 128
)

func (o Options) leveldb() *opt.Options {
	buffer := cmp.Or(o.WriteBuffer, defaultBuffer)
	return &opt.Options{
		WriteBuffer: buffer, BlockCacheCapacity: cmp.Or(o.BlockCache, defaultCache),
		OpenFilesCacheCapacity: keptOpen, Filter: filter.NewBloomFilter(10),
		CompactionL0Trigger: levelZero, WriteL0SlowdownTrigger: slowAt, WriteL0PauseTrigger: pauseAt,
		CompactionTotalSize: max(levelOne*buffer, opt.DefaultCompactionTotalSize), CompactionTableSize: tableFile,
		// When a disk fails in such a transaction, Close waits for ever.
		DisableLargeBatchTransaction: true,
	}
}

func open(dir string, o Options) (*Store, error) {
	if o.Storage == nil {
		o.Storage = func(dir string) (storage.Storage, error) { return storage.OpenFile(dir, false) }
	}
	return openOn(o.Storage, dir, o.leveldb())
}

// openExisting opens a store to read it only.
func openExisting(dir string) (*Store, error) {
	readOnly := func(dir string) (storage.Storage, error) { return storage.OpenFile(dir, true) }
	return openOn(readOnly, dir, &opt.Options{ReadOnly: true, ErrorIfMissing: true})
}

func openOn(on func(string) (storage.Storage, error), dir string, o *opt.Options) (*Store, error) {
	files, err := on(dir)
	if err != nil {
		return nil, folderError(dir, fmt.Errorf("open the store in %s: %w", dir, err))
	}
	s, err := openFiles(files, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store in %s: %w", dir, err), files.Close())
	}
	s.dir = dir
	s.corrupt.Store(isMarked(dir, corruptMark))
	s.doubted.Store(isMarked(dir, doubtMark))
	return s, nil
}

func openFiles(files storage.Storage, o *opt.Options) (*Store, error) {
	if err := checkLogs(files); err != nil {
		return nil, err
	}
	files = &inOrder{Storage: files}
	db, err := leveldb.Open(files, o)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, files: files, overlay: map[string]staged{}}
	if err = fitFormat(db, o.GetReadOnly()); err == nil {
		s.committed, err = s.readPosition()
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.position = s.committed
	return s, nil
}

func (s *Store) closeFiles() error { return errors.Join(s.db.Close(), s.files.Close()) }

func (s *Store) readPosition() (Position, error) {
	b, err := s.db.Get(positionKey, nil)
	switch {
	case errors.Is(err, leveldb.ErrNotFound):
		return none, nil
	case err != nil:
		return none, fmt.Errorf("read the store's position: %w", err)
	}
	return parsePosition(b)
}

// Stage records a change whose table offset isn't known yet.
func (s *Store) Stage(c Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage(c)
}

func (s *Store) stage(c Change) {
	if c.Key != "" {
		s.overlay[c.Key] = staged{c.Value, s.head + uint64(len(s.queue))}
		if s.keys != nil {
			s.keys.add(c.Key)
		}
	}
	s.queue = append(s.queue, c)
	s.position.apply(c)
}

// SetOffset is goka's report that the changes staged so far are the table up to this
// offset. They go to disk in batches, or with Flush. Of the owner's own writes it says
// nothing new.
func (s *Store) SetOffset(offset int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		return nil
	}
	s.position.mark(offset, s.queue[s.known:]...)
	s.position.Table, s.known = offset, len(s.queue)
	if s.known < readBatch {
		return nil
	}
	return s.flush()
}

// Ack is the table's report that the oldest n staged changes lie at base and the
// offsets behind it. Any other base than the one expected means that another writer
// was at the table: the store stays as it is on disk and refuses all that follows.
func (s *Store) Ack(base int64, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil && base != s.position.Table+1 {
		s.broken = fmt.Errorf("the table gave offset %d where %d was due: another writer was there", base, s.position.Table+1)
	}
	if s.broken != nil {
		return s.broken
	}
	for i, c := range s.queue[:n] {
		s.position.mark(base+int64(i), c)
	}
	s.position.Table = base + int64(n) - 1
	return s.commit(n)
}

// commit writes the oldest n changes with the position in one batch. It fails once.
func (s *Store) commit(n int) error {
	batch := &s.batch
	defer s.emptyBatch()
	now, ahead := time.Now().UnixMilli(), s.fresh.maxAge.Milliseconds()
	next := s.committed
	next.Table, next.Last = s.position.Table, s.position.Last
	for i, c := range s.queue[:n] {
		next.apply(c)
		next.Time = writtenAt(c.Time, next.Time, now, ahead)
		switch {
		case c.Key == "" || s.isOvertaken(i, n):
		case c.Value == nil:
			batch.Delete([]byte(c.Key))
		default:
			batch.Put([]byte(c.Key), c.Value)
		}
	}
	batch.Put(positionKey, next.bytes())
	if err := s.db.Write(batch, nil); err != nil {
		s.broken = s.suspect(fmt.Errorf("write to the store in %s: %w", s.dir, err))
		return s.broken
	}
	s.committed, s.position.Time = next, next.Time
	s.drop(n)
	return nil
}

// isOvertaken tells whether one of the oldest n changes is followed by one of the same row
// among them, and not by one that isn't: a segment is often added and finished in a batch.
func (s *Store) isOvertaken(i, n int) bool {
	last := s.overlay[s.queue[i].Key].seq - s.head
	return uint64(i) < last && last < uint64(n)
}

// emptyBatch keeps the memory of one that is no larger than what often comes.
func (s *Store) emptyBatch() {
	if len(s.batch.Dump()) > keptBatch {
		s.batch = leveldb.Batch{}
	}
	s.batch.Reset()
}

// drop forgets the oldest n changes, which are on disk now.
func (s *Store) drop(n int) {
	last := s.head + uint64(n)
	for _, c := range s.queue[:n] {
		if o, ok := s.overlay[c.Key]; ok && o.seq < last {
			delete(s.overlay, c.Key)
		}
	}
	s.head = last
	rest := copy(s.queue, s.queue[n:])
	clear(s.queue[rest:])
	s.queue = s.queue[:rest]
	s.known = max(0, s.known-n)
}

// Flush writes what is staged and has an offset. Once a write has failed nothing more
// is written and the error is that one: open the store again.
func (s *Store) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

func (s *Store) flush() error {
	if s.broken != nil || s.live || s.position.Table == s.committed.Table {
		return s.broken
	}
	return s.commit(s.known)
}

// MarkRecovered is goka's report that the end of the table is reached. What was read goes to
// disk.
func (s *Store) MarkRecovered() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.following = true
	err := s.flush()
	s.batch = leveldb.Batch{} // what follows is small
	return err
}

// GoLive makes the store the owner's: from now on offsets come from Ack. It fails
// unless the store has reached the table offset, the owner's own fence: goka's
// recovery can end early without an error. A store that has no rows yet remembers the keys of those
// that come.
func (s *Store) GoLive(fence int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.position.Table != fence {
		return fmt.Errorf("recovery ended at table offset %d, not at the fence %d", s.position.Table, fence)
	}
	if err := s.flush(); err != nil {
		return err
	}
	if n := len(s.queue); n > 0 {
		return fmt.Errorf("recovery left %d changes without an offset", n)
	}
	if err := s.beginKeys(); err != nil {
		return err
	}
	s.live = true
	return nil
}

// Position is how far the store is, with what waits in memory.
func (s *Store) Position() Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.position
}

// Committed is how far the store is on disk.
func (s *Store) Committed() Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.committed
}

// GetOffset is the table offset that goka goes on behind; def when there is none.
func (s *Store) GetOffset(def int64) (int64, error) {
	if p := s.Position(); p.Table >= 0 {
		return p.Table, nil
	}
	return def, nil
}

// Get returns the row, staged ones included; nil when there is none. The caller must
// not change it.
func (s *Store) Get(key string) ([]byte, error) {
	s.mu.RLock()
	c, ok := s.overlay[key]
	never := !ok && s.keys != nil && !s.keys.mayHave(key)
	s.mu.RUnlock()
	if ok || never {
		return c.value, nil
	}
	v, err := s.db.Get([]byte(key), nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, s.suspect(fmt.Errorf("read %q from the store: %w", key, err))
	}
	return v, nil
}

// Has tells whether there is a row.
func (s *Store) Has(key string) (bool, error) {
	v, err := s.Get(key)
	return v != nil, err
}

// Set does nothing: see the package comment.
func (*Store) Set(string, []byte) error { return nil }

// Delete does nothing: see the package comment.
func (*Store) Delete(string) error { return nil }

// Open is goka's report that it starts to read the table behind the store's offset:
// what an earlier reader staged without one is forgotten, since it comes again.
func (s *Store) Open() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		return nil
	}
	kept := s.queue[:s.known]
	s.queue = nil
	s.position.Applied, s.position.Input = s.committed.Applied, s.committed.Input
	clear(s.overlay)
	for _, c := range kept {
		s.stage(c)
	}
	return nil
}

// Close flushes and closes the store; a second time does nothing. A write that had
// failed before isn't told again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if s.broken == nil {
		err = s.flush()
	}
	return errors.Join(err, s.closeFiles())
}
