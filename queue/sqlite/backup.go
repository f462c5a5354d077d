package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/b1213022/bailiff/queue"
)

// Backup writes a snapshot of the queue to a new file at path: one file in SQLite's
// format, readable and writable by its owner alone, which is no queue until Restore
// makes one of it. All that was acknowledged before the call is in it; the queue
// goes on meanwhile. progress, if not nil, is told the bytes copied and how many
// there are.
//
// Nothing is replaced: a file at path, or one beside it that belongs to a database
// of that name, wraps queue.ErrConflict. The folder must exist. Too little room, of
// which 16 MiB are to be left, wraps queue.ErrFull, a damaged database
// queue.ErrDamaged. When it answers nil, the snapshot was checked and is on the disk;
// after an error, and when ctx ends, nothing of it is left, unless the error says
// that it is there.
func (q *Queue) Backup(ctx context.Context, path string, progress func(done, total int64)) (queue.Backup, error) {
	var b queue.Backup
	err := q.beside(ctx, func(ctx context.Context) error {
		c, err := q.connect(ctx)
		if err != nil {
			return err
		}
		q.backups.Add(1)
		defer q.backups.Add(-1)
		b, err = backup(ctx, c, path, q.clock.Now, progress)
		_ = q.part(c) // it only read
		return err
	})
	if err != nil {
		q.tellWriter(err)
		return queue.Backup{}, fmt.Errorf("backup to %s: %w", path, err)
	}
	return b, nil
}

// tellWriter makes known to the writer that the disk did not confirm what it wrote,
// if that is what err means: it was the backup that copied the log.
func (q *Queue) tellWriter(err error) {
	if syncFailed(err) {
		_ = q.write(context.Background(), "checkpoint", &request{run: func(*transaction) error { return err }})
	}
}

// beside runs f, which uses connections of its own. Close ends it and waits for it.
func (q *Queue) beside(ctx context.Context, f func(context.Context) error) error {
	q.mu.Lock()
	if q.closed() {
		q.mu.Unlock()
		return q.why
	}
	q.watchers.Add(1)
	q.mu.Unlock()
	defer q.watchers.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-q.closing:
			cancel(q.why)
		case <-ctx.Done():
		}
	}()
	err := f(ctx)
	if err != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err())) {
		err = context.Cause(ctx)
	}
	cancel(nil)
	<-ended
	return err
}

// backup makes a snapshot at path of the database that c reads. c is in no
// transaction, before and after, and used by nobody else meanwhile.
func backup(ctx context.Context, c *conn, path string, now func() time.Time, progress func(done, total int64)) (b queue.Backup, err error) {
	began := time.Now()
	b.TakenAt = now().Truncate(time.Millisecond).UTC() // before the first read: what is acknowledged by then is in it
	size, err := beginCopy(ctx, c)
	if err != nil {
		return b, err
	}
	d, err := newDraft(path, forBackup, size)
	if err != nil {
		return b, errors.Join(err, c.script(`ROLLBACK`))
	}
	defer func() {
		if err != nil {
			d.drop()
		}
	}()
	b.Path = d.path
	if err = errors.Join(copyPages(ctx, c, d.temp, progress), c.script(`ROLLBACK`)); err != nil {
		return b, err
	}
	// The log could not be written anew from its start while it was read, and has
	// grown. Copied here, it does not hold up the writer.
	if _, _, _, err = checkpoint(c, `PRAGMA wal_checkpoint(PASSIVE)`); syncFailed(err) {
		return b, err
	}
	if err = finish(ctx, d, &b); err != nil {
		return b, err
	}
	if err = d.place(); err != nil {
		return b, err
	}
	b.Took = time.Since(began)
	return b, nil
}

// beginCopy takes the one snapshot that all pages are read from, so that no writer
// makes the copy begin anew, and answers its size in bytes.
func beginCopy(ctx context.Context, c *conn) (int64, error) {
	if err := patiently(ctx, func() error { return beginReading(c) }); err != nil {
		return 0, err
	}
	pages, err := c.number(ctx, `PRAGMA page_count`)
	if err == nil {
		var size int64
		if size, err = c.number(ctx, `PRAGMA page_size`); err == nil {
			return pages * size, nil
		}
	}
	return 0, errors.Join(err, c.script(`ROLLBACK`))
}

// stepPages are copied before anybody is asked whether to go on: 1 MiB.
const stepPages = 256

// copyPages copies what c reads into the empty file at path.
func copyPages(ctx context.Context, c *conn, path string, progress func(done, total int64)) (err error) {
	to, err := openConn(dsn(path, private))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	if err := withoutJournal(to); err != nil {
		return err
	}
	size, err := c.number(ctx, `PRAGMA page_size`)
	if err != nil {
		return err
	}
	b, err := to.c.Backup("main", c.c, "main")
	if err != nil {
		return explain(err)
	}
	defer func() { _ = b.Close() }() // it repeats the error of a step
	for left := math.MaxInt; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		done, err := b.Step(stepPages)
		switch {
		case err != nil:
			return explain(stepError(err))
		case !done && b.Remaining() >= left:
			return queue.ErrBusy // the driver does not tell; with files of our own it cannot be
		}
		left = b.Remaining()
		if progress != nil {
			progress(int64(b.PageCount()-left)*size, int64(b.PageCount())*size)
		}
		if done {
			return nil
		}
	}
}

// stepError sorts the codes of an error that the driver made of a step's answer: it
// takes the extended one for the other.
func stepError(err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) {
		e.ExtendedCode = sqlite3.ErrNoExtended(e.Code)
		e.Code &= 0xff
		return e
	}
	return err
}

// withoutJournal lets c, which alone has its file open, write it with nothing
// beside it, whatever the file says of its journal. After an error the file is of no
// use.
func withoutJournal(c *conn) error { return setJournal(c, "off") }

func setJournal(c *conn, mode string) error {
	var is string
	if _, err := c.one(context.Background(), `PRAGMA journal_mode = `+mode, nil, func(r row) error {
		is = r.text(0)
		return nil
	}); err != nil {
		return err
	}
	if is != mode {
		return fmt.Errorf("journal_mode is %s, not %s", is, mode)
	}
	return nil
}
