package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// The reserve is a file beside the database that holds nothing but room on the
// disk. When a write fails for want of space it is given up, which means cut to
// nothing, and makes room for what running jobs have yet to record. From then on
// nothing else is written, by any process, until there is so much room that the
// reserve can be filled again and as much is left.
//
// Its size is its state, which changes under the database's write lock alone; so
// whoever has the lock knows it. A file of another size, or one that is not a
// regular file with one name, is somebody else's and left alone. A database without
// a reserve opens and works as well; a disk that is full then refuses everything.

const (
	reserveSize = 8 << 20
	reserveRoom = 16 << 20         // bytes that must be free before it is filled
	reserveRest = 10 * time.Second // after it could not be filled
)

// reserveState is what the size of a reserve means.
type reserveState int

const (
	reserveNone  reserveState = iota // never made, or somebody else's file
	reserveHeld                      // there is room in it
	reserveGiven                     // it was given up
)

type reserve struct {
	path   string       // of the database
	state  reserveState // at the last look
	looked bool         // there was one
	wanted bool         // a write has failed that would fit if it were given up
	stuck  bool         // it could not be given up
	rests  time.Time    // it is not filled before
}

func (r *reserve) name() string { return r.path + reserveSuffix }

// look answers the state of the file.
func (r *reserve) look() reserveState {
	switch size, ours := reserveFile(r.name()); {
	case !ours:
		return reserveNone
	case size == 0:
		return reserveGiven
	default:
		return reserveHeld
	}
}

// isReserve reports whether a file of that size is a reserve. While one is filled it
// is larger: room is taken for it and for what is to be left, or for neither.
func isReserve(size int64) bool { return size == 0 || size == reserveSize || size == reserveRoom }

// helps reports whether what failed with err would fit if the reserve were given
// up, and lets that be done with the next lock.
func (r *reserve) helps(err error) bool {
	if r.state != reserveHeld || r.stuck || !errors.Is(err, queue.ErrFull) || tooLarge(err) {
		return false
	}
	// SQLite calls other things a full disk as well, such as a bound on pages.
	r.wanted = overQuota(err) || !r.hasRoom()
	return r.wanted
}

func (r *reserve) hasRoom() bool {
	free, err := freeIn(filepath.Dir(r.path))
	return err == nil && free >= reserveRoom
}

// give gives it up.
func (r *reserve) give() error {
	f, err := openReserve(r.name(), 0)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	_ = f.Sync() // some file systems let others have the room only then
	return errors.Join(err, f.Close())
}

// fill makes the reserve, or makes one that was given up anew, if there is room.
// That is found out by taking it: a quota may leave less than the disk has.
func (r *reserve) fill() (filled bool) {
	now := time.Now()
	if now.Before(r.rests) || !r.hasRoom() {
		return false
	}
	r.rests = now.Add(reserveRest)
	create := 0
	if r.state == reserveNone {
		create = os.O_CREATE | os.O_EXCL
	}
	f, err := openReserve(r.name(), create)
	if err != nil {
		return false
	}
	if create != 0 {
		likeDatabase(f, r.path)
	}
	err = allocate(f, reserveRoom)
	if err == nil {
		err = f.Truncate(reserveSize)
	}
	if err != nil {
		_ = f.Truncate(0)
		if create != 0 {
			_ = os.Remove(r.name())
		}
	}
	return errors.Join(err, f.Close()) == nil
}

// writeOver takes room by writing, what no file system makes smaller.
func writeOver(f *os.File, size int64) error {
	if err := f.Truncate(size); err != nil { // the size has a meaning, also after a crash
		return err
	}
	noise := rand.NewChaCha8([32]byte{})
	chunk := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(chunk)) {
		_, _ = noise.Read(chunk) // never fails
		if _, err := f.WriteAt(chunk, at); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom decides, once the lock is taken, what may be written: everything, or with
// an error, which wraps queue.ErrFull, only what is essential.
func (w *writer) makeRoom() error {
	r := &w.reserve
	before, known := r.state, r.looked
	r.state, r.looked = r.look(), true
	switch {
	case r.state == reserveHeld && r.wanted:
		if err := r.give(); err != nil {
			r.stuck = true
			w.q.logger.Warn("the disk is full, and the reserve cannot be given up", "database", w.q.path, "error", err)
			break
		}
		r.state = reserveGiven
	case r.state != reserveHeld && r.fill():
		r.state = reserveHeld
	}
	r.wanted = false
	switch {
	case r.state == reserveGiven && before != reserveGiven && known:
		w.q.logger.Warn("the disk is full: only what running jobs record is still written, from the reserve", "database", w.q.path)
	case r.state == reserveHeld && before == reserveGiven:
		w.q.logger.Info("the disk has room again: everything is written, and the reserve is back", "database", w.q.path)
	}
	if r.state != reserveGiven {
		return nil
	}
	return fmt.Errorf("%w: only what running jobs record is still written, until %d MiB are free in %s",
		queue.ErrFull, reserveRoom>>20, filepath.Dir(w.q.path))
}
