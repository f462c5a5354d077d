package sqlite

import (
	"context"
	"time"
)

// The writer copies the write-ahead log into the file itself. SQLite would do so
// within a COMMIT, and tell nobody of a sync that failed there
// (https://www.sqlite.org/c3ref/wal_autocheckpoint.html); here that ends the queue
// as any other does. What a queue leaves in the log when it is closed, the last
// connection to the file copies, and keeps the log where that fails.
//
// A log that is copied is written again from its start, once no read looks at it
// any more. Where reads always overlap it only grows. So above a bound no read of
// this queue begins until those under way have ended, for a moment at most, and
// the log is cut. A reader in another process can still hold it; that is said. While a
// backup of this queue reads, the log grows, and no read is held up for it.

const (
	// In frames, of a page each.
	walCopy  = 1000 // the log is copied after so many more of them, as SQLite does
	walBound = 8192 // 32 MiB; from here on it is cut

	idle     = time.Second            // without a request: the log is copied
	gateWait = time.Second            // longest that reads are held up
	gateStep = 5 * time.Millisecond   // between tries to cut the log while they are
	gateRest = time.Minute            // before they are again, when that was no use
	otherTry = 100 * time.Millisecond // so long a reader that is not of this queue is waited for
)

// wal is what the writer knows of the write-ahead log.
type wal struct {
	bound  int64     // walBound; tests lower it
	dirty  bool      // something may not be copied
	due    int64     // frames at which it is copied next
	gated  time.Time // since when no read begins; zero: they do
	unused time.Time // since when none is under way; zero: one is
	rested time.Time // no gate before
	warned bool
}

// next is when to look at the log again without a request; 0 is never.
func (l *wal) next() time.Duration {
	switch {
	case !l.gated.IsZero():
		return gateStep
	case l.dirty:
		return idle
	}
	return 0
}

// tend copies and cuts the log where it is time. It is called between transactions.
func (w *writer) tend(idle bool) {
	l := &w.wal
	if w.hasFailed() || !l.dirty && l.gated.IsZero() {
		return
	}
	// It does no work but to tell.
	held, frames, copied, err := w.checkpoint(w.c, `PRAGMA wal_checkpoint(NOOP)`)
	if err != nil || held {
		w.checkpointFailed(err)
		return
	}
	if frames < l.due-walCopy {
		l.due = walCopy // it was begun anew
	}
	if copied < frames && (idle || frames >= l.due) {
		if !w.inPlace() {
			return
		}
		l.due = frames + walCopy
		if held, frames, copied, err = w.checkpoint(w.c, `PRAGMA wal_checkpoint(PASSIVE)`); err != nil || held {
			w.checkpointFailed(err)
			return
		}
	}
	l.dirty = copied < frames
	if !l.gated.IsZero() || frames >= l.bound && w.q.backups.Load() == 0 && time.Now().After(l.rested) {
		w.cut(frames)
	}
}

// cut holds up reads, until the log is cut or it takes too long.
func (w *writer) cut(frames int64) {
	l, now := &w.wal, time.Now()
	if l.gated.IsZero() {
		w.q.pool.shut()
		l.gated, l.unused = now, time.Time{}
	}
	if w.q.pool.unused() {
		if !w.inPlace() {
			return
		}
		if l.unused.IsZero() {
			l.unused = now
		}
		held, _, _, err := w.checkpoint(w.c, `PRAGMA wal_checkpoint(TRUNCATE)`)
		switch {
		case err != nil && !busy(err):
			w.openReads()
			w.checkpointFailed(err)
			return
		case err == nil && !held:
			w.openReads()
			l.due, l.dirty, l.warned = walCopy, false, false
			return
		}
	}
	if now.Sub(l.gated) < gateWait && (l.unused.IsZero() || now.Sub(l.unused) < otherTry) {
		return
	}
	w.openReads()
	if w.q.backups.Load() > 0 {
		return // begun meanwhile: it is the reader
	}
	l.rested = now.Add(gateRest)
	if !l.warned {
		l.warned = true
		w.q.logger.Warn("a reader of another program, or a backup that it makes, holds the write-ahead log open: it grows",
			"database", w.q.path, "pages", frames)
	}
}

func (w *writer) openReads() {
	w.wal.gated = time.Time{}
	w.q.pool.open()
}

// checkpoint asks SQLite for one and answers how it went: held by another
// connection, or the frames in the log and those of them that are copied.
func checkpoint(c *conn, pragma string) (held bool, frames, copied int64, err error) {
	_, err = c.one(context.Background(), pragma, nil, func(r row) error {
		held, frames, copied = r.bool(0), r.int(1), r.int(2)
		return nil
	})
	return held, frames, copied, err
}

// checkpointFailed decides what an error means for a log that stays as it is. That
// another connection is at the same work is none.
func (w *writer) checkpointFailed(err error) {
	switch l := &w.wal; {
	case syncFailed(err):
		w.fail("the disk did not confirm a checkpoint", err)
	case err != nil && !busy(err) && !l.warned:
		l.warned = true
		w.q.logger.Warn("the write-ahead log could not be copied", "database", w.q.path, "error", err)
	}
}
