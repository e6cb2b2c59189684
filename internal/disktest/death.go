package disktest

import (
	"cmp"
	"slices"

	"github.com/syndtr/goleveldb/leveldb/storage"
)

// Death is a way for a disk to die.
type Death struct {
	// Torn is how many bytes are kept of the write that it dies in.
	Torn func(size int) int
	// Left is what is left of it.
	Left func(*Disk) *Disk
	// Loses says that what the disk had taken may be gone too, but for what was synced.
	Loses bool
}

// Deaths are all ways to die, by name.
var Deaths = map[string]Death{
	"nothing kept":         {Torn: none, Left: (*Disk).Copy},
	"half of a write kept": {Torn: func(n int) int { return n / 2 }, Left: (*Disk).Copy},
	"all but a byte kept":  {Torn: func(n int) int { return max(0, n-1) }, Left: (*Disk).Copy},
	"all kept":             {Torn: all, Left: (*Disk).Copy},
	"unsynced lost":        {Torn: none, Left: unsyncedLost, Loses: true},
	"older unsynced lost":  {Torn: all, Left: olderUnsyncedLost, Loses: true},
}

func none(int) int     { return 0 }
func all(size int) int { return size }

func unsyncedLost(d *Disk) *Disk {
	return d.AfterPowerCut(func(storage.FileDesc) bool { return false })
}

// olderUnsyncedLost keeps the newest journal: a disk writes in any order.
func olderUnsyncedLost(d *Disk) *Disk {
	journals, _ := d.List(storage.TypeJournal) // never fails
	newest := slices.MaxFunc(append(journals, storage.FileDesc{}), func(a, b storage.FileDesc) int { return cmp.Compare(a.Num, b.Num) })
	return d.AfterPowerCut(func(fd storage.FileDesc) bool { return fd == newest })
}
