package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// The path of a database may come to lead to another file while it is open: it
// was moved, deleted or replaced, or the log beside it was. SQLite does not notice,
// and what is written then is lost to everybody who opens the path
// (https://www.sqlite.org/howtocorrupt.html, "Unlinking or renaming a database
// file while in use"). So the names are looked at before each write and on a
// timer. Once they lead elsewhere the queue is closed for good, also if everything
// is put back: others may have written meanwhile.
//
// SQLite's own closing must not happen then. The last connection copies the log
// into the database and removes, by their names, the log and the shared memory;
// the names may belong to another database by now, and the log to a file that
// others have changed since. So such a connection is rolled back and left open
// until the process ends.

// patrolEvery is how often the names are looked at when nothing is written.
const patrolEvery = 500 * time.Millisecond

// files are an open database and what SQLite keeps beside it for as long as
// anybody has it open.
type files struct {
	names [3]string // the database, its log, its shared memory
	ids   [3]fileID
	lost  atomic.Pointer[movedError]
}

func filesOf(path string) (*files, error) {
	f := &files{names: [3]string{path, path + "-wal", path + "-shm"}}
	for i, name := range f.names {
		var err error
		if f.ids[i], err = fileAt(name); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// check answers nil if the names have always led to the same files; else an error
// that wraps queue.ErrMoved. A name that cannot be looked at, such as in a folder
// without the right to search it, says nothing.
func (f *files) check() error {
	if lost := f.lost.Load(); lost != nil {
		return lost
	}
	for i, name := range f.names {
		switch now, err := fileAt(name); {
		case err == nil && now == f.ids[i]:
		case err == nil:
			return f.moved(i, now.String()+" is there now")
		case isGone(err):
			return f.moved(i, "nothing is there now")
		}
	}
	return nil
}

func (f *files) moved(i int, now string) error {
	what := [...]string{"", " (its log)", " (its shared memory)"}[i]
	f.lost.CompareAndSwap(nil, &movedError{fmt.Sprintf("%s%s was %s, %s", f.names[i], what, f.ids[i], now)})
	return f.lost.Load()
}

// logGone reports whether the log has lost its name, while the database has its own
// and nobody has begun to write another log.
func (f *files) logGone() bool {
	database, err := fileAt(f.names[0])
	if err != nil || database != f.ids[0] {
		return false
	}
	if _, err := fileAt(f.names[1]); !isGone(err) {
		return false
	}
	shared, err := fileAt(f.names[2])
	return err == nil && shared == f.ids[2] || isGone(err)
}

func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// movedError is queue.ErrMoved with what was where.
type movedError struct{ what string }

func (e *movedError) Error() string {
	return "the database was moved, deleted or replaced while in use: " + e.what
}

func (e *movedError) Unwrap() error { return queue.ErrMoved }

// patrol looks at the names on a timer, until the queue closes.
func (q *Queue) patrol() {
	timer := time.NewTicker(patrolEvery)
	defer timer.Stop()
	for {
		select {
		case <-q.closing:
			return
		case <-timer.C:
		}
		if err := q.files.check(); err != nil {
			q.writer.abandon(err)
			return
		}
	}
}

// abandon ends the queue because its files are not where they were opened. Any
// goroutine may call it; the writer itself follows with its next step.
func (w *writer) abandon(moved error) {
	w.mu.Lock()
	if w.lost == nil && !w.failed {
		w.lost, w.closed = moved, fmt.Errorf("%w: %w", queue.ErrClosed, moved)
	}
	why := w.closed
	w.mu.Unlock()
	w.q.refuse(why)
	w.nudge()
}

// giveUp is the writer's own part of abandon, and reports whether there was one.
func (w *writer) giveUp() bool {
	w.mu.Lock()
	lost := w.lost
	w.mu.Unlock()
	if lost == nil {
		return false
	}
	w.fail("it is no longer where it was opened", lost)
	return true
}

// inPlace reports whether the files are those that were opened. If they are not, the
// transaction is undone and the queue closed.
func (w *writer) inPlace() bool {
	if moved := w.q.files.check(); moved != nil {
		w.abandon(moved)
	}
	return !w.giveUp()
}

// connect makes a connection that reads the files that were opened.
func (q *Queue) connect(ctx context.Context) (*conn, error) {
	return q.sameFiles(func() (*conn, error) { return openReader(ctx, q.path) })
}

// connectWriter makes another connection that writes them.
func (q *Queue) connectWriter() (*conn, error) {
	return q.sameFiles(func() (*conn, error) { return openWriter(q.path) })
}

// sameFiles opens the path if it leads, before and afterwards, to the files that were
// opened: SQLite would make a log that is missing.
func (q *Queue) sameFiles(open func() (*conn, error)) (*conn, error) {
	if moved := q.files.check(); moved != nil {
		q.writer.abandon(moved)
		return nil, q.why
	}
	c, err := open()
	if moved := q.files.check(); moved != nil {
		q.writer.abandon(moved)
		if c != nil {
			keepOpen(c)
		}
		return nil, q.why
	}
	return c, err
}

// part closes a connection, if it is safe to.
func (q *Queue) part(c *conn) error {
	if q.files.check() == nil {
		return c.close()
	}
	if c.inTransaction() {
		_ = c.script(`ROLLBACK`)
	}
	q.leftOpen.Store(c)
	keepOpen(c)
	_ = q.saveLog() // again when nobody reads any more
	return nil
}

// saveLog copies a log that was deleted into the database, as SQLite's own closing
// would have done: what was accepted may stand nowhere else.
func (q *Queue) saveLog() error {
	c := q.leftOpen.Load()
	if c == nil || !q.files.logGone() {
		return nil
	}
	held, frames, copied, err := checkpoint(c, `PRAGMA wal_checkpoint(PASSIVE)`)
	if err == nil && (held || copied < frames) {
		err = fmt.Errorf("%d of %d pages of the deleted log are in the database, others are in use", copied, frames)
	}
	return err
}

// keptOpen are connections that are not to be closed before the process ends: the
// driver closes those that nobody holds any more.
var keptOpen struct {
	mu    sync.Mutex
	conns map[*conn]struct{}
}

func keepOpen(c *conn) {
	keptOpen.mu.Lock()
	defer keptOpen.mu.Unlock()
	if keptOpen.conns == nil {
		keptOpen.conns = map[*conn]struct{}{}
	}
	keptOpen.conns[c] = struct{}{}
}
