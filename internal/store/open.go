package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/syndtr/goleveldb/leveldb"
	lerrors "github.com/syndtr/goleveldb/leveldb/errors"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/tieredlog/rlmm/api"
)

var errCorrupt = errors.New("corrupt")

// Identity is what a store is made from. A topic that is deleted and created again
// under its name has another id.
type Identity struct {
	ClusterID       string   `json:"clusterId"`
	MetadataTopicID api.UUID `json:"metadataTopicId"`
	TableTopicID    api.UUID `json:"tableTopicId"`
}

// IdentityError says that the metadata topic isn't the one that the state was made
// from. Local state can't heal that: the table is of the old topic too.
type IdentityError struct{ Have, Want Identity }

// Error names both and the remedy.
func (e *IdentityError) Error() string {
	return fmt.Sprintf("the state is of metadata topic %s in cluster %s, not of %s in %s: the topic was deleted and created again; `rlmm reset` clears table and group",
		e.Have.MetadataTopicID, e.Have.ClusterID, e.Want.MetadataTopicID, e.Want.ClusterID)
}

// Unhealable marks the error: no retry mends it.
func (*IdentityError) Unhealable() {}

// Reset is why a store was moved aside and is built anew.
type Reset string

// The reasons, as metrics and logs name them.
const (
	ResetNone           Reset = ""
	ResetCorrupt        Reset = "corrupt"
	ResetTopicRecreated Reset = "topic_recreated"
	ResetBeyondEnd      Reset = "offset_beyond_end"
	ResetGap            Reset = "gap"
	// ResetRegrown is of a store whose last record isn't what lies at its offset: the table
	// lost its end and grew again.
	ResetRegrown Reset = "table_regrown"
	// ResetUnproven is of a store whose last record was compacted away: nothing tells
	// whether the table is the one that the store was made from.
	ResetUnproven Reset = "unproven"
	// ResetForeign is of a store that was being mended after somebody else had written to
	// the table.
	ResetForeign Reset = "foreign_record"
	// ResetFormat is of a store that a release with other formats wrote.
	ResetFormat Reset = "format"
	// ResetRequested is of a store that a person wants rebuilt.
	ResetRequested Reset = "requested"
	// ResetWriteFailed is of an open store only: opened again it may still be of use.
	ResetWriteFailed Reset = "write_failed"
)

// corruptMark is the file in a store's folder that says that something in it turned
// out to be unreadable while the store was in use.
const corruptMark = "CORRUPT"

// Expect is what a store must fit to be of use.
type Expect struct {
	Identity Identity
	// TableEnd is the offset behind the table's last data record now.
	TableEnd int64
	// MaxAge is how old the last record of a store that isn't at the table's end may
	// be: tombstones that it didn't see may be gone. With 0 a store must be at the end.
	// Clocks may differ by as much.
	MaxAge time.Duration
	// Now is the time to compare with; time.Now when zero.
	Now time.Time
	// SumAt tells of the table record at an offset below TableEnd now. The store's last record
	// is taken for what it was when nil.
	SumAt func(offset int64) (uint32, Fate, error)
}

// Open opens the store in the folder, creating it if needed. A store that can't be
// used any more (corrupt, of another format or table, ahead of its end, too old, or without a proof
// that the table is the one it was made from) is moved aside and an empty one opened;
// reset says why. A store of another metadata topic is an [IdentityError]; a folder that
// can't be written to is a [FolderError].
func Open(dir string, o Options, want Expect) (s *Store, reset Reset, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return nil, ResetNone, folderError(dir, fmt.Errorf("make the data folder: %w", err))
	}
	s, err = openFor(dir, o, want)
	if err == nil {
		reset, err = s.fits(want)
	} else if reset = unusable(err); reset != ResetNone {
		err = nil
	}
	if err != nil || reset != ResetNone {
		if s != nil {
			err = errors.Join(err, s.closeFiles())
		}
		if err != nil {
			return nil, reset, err
		}
		if err := MoveAside(dir, reset); err != nil {
			return nil, reset, err
		}
		if s, err = openFor(dir, o, want); err != nil {
			return nil, reset, err
		}
	}
	if err := s.writeIdentity(want.Identity); err != nil {
		return nil, reset, errors.Join(err, s.closeFiles())
	}
	s.fitted(want)
	return s, reset, nil
}

// unusable is why a store can't be opened, when another one in its place can.
func unusable(err error) Reset {
	var other *FormatError
	switch {
	case errors.As(err, &other):
		return ResetFormat
	case isCorrupt(err):
		return ResetCorrupt
	}
	return ResetNone
}

func isCorrupt(err error) bool {
	var inDB *lerrors.ErrCorrupted
	var inFile *storage.ErrCorrupted
	return errors.Is(err, errCorrupt) || errors.As(err, &inDB) || errors.As(err, &inFile)
}

// suspect returns the error, and marks the store if it tells of damage: LevelDB reads
// most of what is on disk long after it was opened.
func (s *Store) suspect(err error) error {
	if isCorrupt(err) {
		s.corrupt.Store(true)
		_ = os.WriteFile(filepath.Join(s.dir, corruptMark), nil, 0o600) // else the next open finds it again
	}
	return err
}

func isMarked(dir, mark string) bool {
	_, err := os.Stat(filepath.Join(dir, mark))
	return err == nil
}

func (s *Store) fits(want Expect) (Reset, error) {
	have, ok, err := s.readIdentity()
	p := s.Committed()
	switch {
	case s.corrupt.Load(), isCorrupt(err):
		return ResetCorrupt, nil
	case s.doubted.Load():
		return ResetForeign, nil
	case err != nil:
		return ResetNone, err
	case !ok && p == none:
		return ResetNone, nil
	case !ok:
		return ResetCorrupt, nil // it is written before all else
	case have.TableTopicID != want.Identity.TableTopicID:
		return ResetTopicRecreated, nil
	case have != want.Identity:
		return ResetNone, &IdentityError{have, want.Identity}
	case p.Table >= want.TableEnd:
		return ResetBeyondEnd, nil
	case p.Table >= 0 && p.Table < want.TableEnd-1 && want.tooOld(p.Time):
		return ResetGap, nil
	}
	return p.Last.Compare(want.SumAt)
}

// tooOld is true of a time that is far in the future too: it tells nothing.
func (e Expect) tooOld(ms int64) bool {
	return e.now().Sub(time.UnixMilli(ms)).Abs() > e.MaxAge
}

func (e Expect) now() time.Time {
	if e.Now.IsZero() {
		return time.Now()
	}
	return e.Now
}

// farBehind is how many records of the table a store must lack to need the buffer of one
// that reads a whole table: with a smaller one LevelDB writes, and syncs, many small files.
const farBehind = 1000

// openFor opens the store with the buffer that suits what it has to read.
func openFor(dir string, o Options, want Expect) (*Store, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) && want.TableEnd > farBehind {
		return open(dir, o)
	}
	s, err := open(dir, o.following())
	if err != nil || o.FollowBuffer == 0 || want.TableEnd-s.committed.Table <= farBehind {
		return s, err
	}
	if err := s.closeFiles(); err != nil {
		return nil, err
	}
	return open(dir, o)
}

// MoveAside renames the folder of a store that isn't open, for a person to look at: to
// DIR.aside-WHY-MILLISECONDS. Only the last one that was moved aside is kept. Without a
// folder there is nothing to do.
func MoveAside(dir string, why Reset) error {
	if err := removeAside(dir); err != nil {
		return fmt.Errorf("remove an old store: %w", err)
	}
	aside := fmt.Sprintf("%s.aside-%s-%d", dir, why, time.Now().UnixMilli())
	if err := os.Rename(dir, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("move the store aside: %w", err)
	}
	return nil
}

func removeAside(dir string) error {
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(dir)+".aside-") {
			continue
		}
		if err := os.RemoveAll(filepath.Join(filepath.Dir(dir), e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) readIdentity() (id Identity, ok bool, err error) {
	b, err := s.db.Get(identityKey, nil)
	if errors.Is(err, leveldb.ErrNotFound) {
		return id, false, nil
	}
	if err == nil && json.Unmarshal(b, &id) != nil {
		err = errCorrupt
	}
	if err != nil {
		return id, false, fmt.Errorf("read the store's identity: %w", err)
	}
	return id, true, nil
}

// writeIdentity writes nothing when it is there already: what the next open finds in the
// journal it has to move to a file of its own, and sync.
func (s *Store) writeIdentity(id Identity) error {
	if have, ok, err := s.readIdentity(); err != nil || ok && have == id {
		return err
	}
	b, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if err := s.db.Put(identityKey, b, nil); err != nil {
		return fmt.Errorf("write the store's identity: %w", err)
	}
	return nil
}

// Check tells whether an open store still fits, as Open does: a reason for which it
// must be closed and opened anew, or an [IdentityError].
func (s *Store) Check(want Expect) (Reset, error) {
	reset, err := s.fits(want)
	if reset == ResetNone && err == nil && s.failed() {
		reset = ResetWriteFailed
	}
	if reset == ResetNone && err == nil {
		s.fitted(want)
	}
	return reset, err
}

func (s *Store) failed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.broken != nil
}

// Peek returns how far the store in the folder is, without opening it for use; the
// position of an empty store when there is none or it can't be read.
func Peek(dir string) Position {
	s, err := openExisting(dir)
	if err != nil {
		return none
	}
	defer s.closeFiles() //nolint:errcheck // nothing was written
	return s.committed
}
