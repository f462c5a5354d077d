package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// A COMMIT that failed may stand all the same, and then whoever is told "failed"
// would do it again.
//
// SQLite syncs the WAL first and tells the other connections afterwards, through
// the -shm file; an error between the two leaves a whole transaction in the WAL
// that the next recovery would bring back. So after a failed COMMIT the writer
// connects anew, takes the write lock, and reads the mark that the transaction
// had set (commit_mark): now, with the lock held, what stands is settled. Where it
// does not stand, a small commit of its own overwrites what may be left in the
// WAL. When there was no room for it this is not needed: the last frame was never
// whole.
//
// After a sync that failed, reading proves nothing: the kernel may show pages
// that never reach the disk. The answer is then queue.ErrUnknown, and the queue
// closes itself.

// doubt finds out whether the transaction t stands whose COMMIT failed with
// cause. An error wraps queue.ErrUnknown; otherwise the writer can go on.
func (w *writer) doubt(t *transaction, cause error) (stands bool, err error) {
	if syncFailed(cause) {
		w.fail("the disk did not confirm a write", cause)
		return false, fmt.Errorf("%w: the disk did not confirm the write: %w", queue.ErrUnknown, cause)
	}
	// A connection in this state has nothing more to say. It is closed when there is
	// another one: SQLite would take it for the last and remove the log.
	c, err := w.q.connectWriter()
	if err != nil {
		w.fail("after a commit that failed it does not open", err)
		return false, fmt.Errorf("%w: after a commit that failed (%w) the database does not open: %w", queue.ErrUnknown, cause, err)
	}
	_ = w.q.part(w.c)
	w.c = c
	mark, err := w.settledMark(t, cause)
	switch {
	case err != nil:
		w.fail("whether a commit that failed stands could not be read", err)
		return false, fmt.Errorf("%w: after a commit that failed (%w): %w", queue.ErrUnknown, cause, err)
	case mark == t.mark:
		w.q.logger.Warn("a commit reported an error but stands", "database", w.q.path, "error", cause)
		return true, nil
	case mark == t.markBefore:
		return false, cause
	default:
		// Another process drew the same slot and has committed since.
		return false, fmt.Errorf("%w: another process wrote before it could be read: %w", queue.ErrUnknown, cause)
	}
}

// settledMark reads this writer's mark under the write lock, and makes sure that
// a transaction which does not stand cannot come back.
func (w *writer) settledMark(t *transaction, cause error) (int64, error) {
	deadline := time.Now().Add(lockWait)
	var failed error
	if !w.lock(func(err error) bool {
		failed = err
		return busy(err) && time.Now().Before(deadline)
	}) {
		if w.hasFailed() {
			failed = w.closed
		}
		return 0, failed
	}
	mark, err := w.c.number(context.Background(), selectMark, w.slot)
	if err == nil && mark == t.markBefore && !outOfSpace(cause) {
		if _, err := w.c.exec(upsertMark, w.slot, newMark()); err != nil {
			return 0, err
		}
		return mark, w.c.script(`COMMIT`)
	}
	w.rollback()
	return mark, err
}
