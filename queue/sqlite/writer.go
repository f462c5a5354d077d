package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// The writer commits together what waits together.
//
// One goroutine owns one connection. It takes the write lock, runs what waits
// inside one transaction, commits, and answers each caller by what happened to
// its own request. Nobody is answered before the commit, refusals included: a
// refusal may have been decided by what another request of the same transaction
// had just written.
//
// When anything goes wrong inside the transaction, all of it is rolled back, as
// SQLite itself does for a full disk or an I/O error whatever savepoints there
// are. The requests go back to the head of the queue, and each runs again in a
// transaction of its own, between which renewals that came meanwhile have their
// turn. So one request's trouble is told to its caller alone. Where the disk was
// full, the reserve is given up first (reserve.go). What a failed COMMIT
// means is decided in doubt.go; after a sync that failed, whoever asked for it,
// nothing is written any more.
//
// No caller's context reaches SQLite: an interrupted statement would roll back
// what the others wrote.

type writer struct {
	q    *Queue
	c    *conn
	slot int64 // of commit_mark

	turn    turnstile
	turns   turns
	names   *names
	wal     wal
	reserve reserve
	commit  func(*conn) error // COMMIT; tests let it fail, and the next too

	checkpoint func(c *conn, pragma string) (held bool, frames, copied int64, err error)

	wake chan struct{} // of capacity 1
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	first   []*request // those that are solo stand at the head, here and in rest
	rest    []*request
	later   []*request // to be tried again after tidyPause
	yielded bool       // renewals had the turn before this one
	closed  error      // what a new request is told; nil while open
	lost    error      // what abandon was told
	failed  bool       // closed by fail
}

func newWriter(q *Queue, c *conn, turn turnstile) *writer {
	w := &writer{
		q: q, c: c, turn: turn, slot: rand.Int64N(256), names: newNames(),
		commit:  func(c *conn) error { return c.script(`COMMIT`) },
		wal:     wal{bound: walBound, due: walCopy},
		reserve: reserve{path: q.path},
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),

		checkpoint: checkpoint,
	}
	q.pool.left = w.nudge
	w.seeOthers()
	w.turns.others = time.Time{} // what was written before it was opened does not count
	go w.loop()
	return w
}

// submit waits until the request is answered or its caller's context ends.
func (w *writer) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("nothing was changed: %w", context.Cause(ctx))
	}
	if err := w.enqueue(ctx, r); err != nil {
		return err
	}
	return r.wait()
}

func (w *writer) enqueue(ctx context.Context, r *request) error {
	r.ctx, r.answer = ctx, make(chan error, 1)
	r.deadline = time.Now().Add(w.q.lockWait)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed != nil {
		return w.closed
	}
	if r.first {
		w.first = append(w.first, r)
	} else {
		w.rest = append(w.rest, r)
	}
	w.nudge()
	return nil
}

func (w *writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop refuses new requests, serves those that wait and closes the connection.
func (w *writer) stop() error {
	w.mu.Lock()
	if w.closed == nil {
		w.closed = queue.ErrClosed
	}
	w.recall() // for one last try
	w.mu.Unlock()
	w.nudge()
	<-w.done
	w.turn.close()
	if w.hasFailed() {
		return nil // its connection is closed
	}
	return w.q.part(w.c)
}

// fail ends the queue after an error that leaves no trust in the file, and lets go
// of the write lock. Whoever waits is told that nothing of theirs was done.
func (w *writer) fail(why string, cause error) {
	w.mu.Lock()
	if w.failed {
		w.mu.Unlock()
		return
	}
	w.failed = true
	if w.lost == nil {
		w.closed = fmt.Errorf("%w: %s: %w", queue.ErrClosed, why, cause)
	}
	rest := slices.Concat(w.first, w.rest)
	w.first, w.rest, w.later = nil, nil, nil
	w.mu.Unlock()
	w.q.logger.Error("the database is closed: "+why, "database", w.q.path, "error", cause)
	w.q.refuse(w.closed)
	_ = w.q.part(w.c)
	for _, r := range rest {
		if r.begin() {
			r.reply(w.closed)
		}
	}
}

func (w *writer) loop() {
	defer close(w.done)
	again := time.NewTimer(idle)
	defer again.Stop()
	for {
		idle := false // a wake may be left over from what was served before
		select {
		case <-w.wake:
		case <-again.C:
			idle = true
		}
		w.giveUp()
		served := false
		for w.waits() {
			w.serve()
			w.tend(false)
			served = true
		}
		if w.ended() {
			return
		}
		if !served {
			w.tend(idle)
		}
		if wait := w.wal.next(); wait > 0 {
			again.Reset(wait)
		}
	}
}

func (w *writer) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.first)+len(w.rest) > 0
}

// ended reports whether nothing waits and nothing will.
func (w *writer) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed != nil && len(w.first)+len(w.rest) == 0
}

// serve makes one transaction of what waits.
func (w *writer) serve() {
	defer w.turn.enter(w.q.lockWait / 2)()
	if !w.lock(w.impatient) {
		return
	}
	locked := time.Now()
	full := w.makeRoom()
	batch, away := w.take(full != nil)
	w.turnAway(away, full)
	if len(batch) == 0 {
		w.rollback()
		return
	}
	err := w.together(batch)
	w.turns.freed = time.Now()
	w.turns.pause = pauseAfter(w.turns.freed.Sub(locked), batch[0].first)
	if errors.Is(err, queue.ErrFull) {
		w.wal.dirty, w.wal.due = true, 0 // once it is copied, the log takes no more room for a while
	}
	switch {
	case err == nil:
	case !w.hasFailed() && (w.reserve.helps(err) || len(batch) > 1):
		w.apart(batch)
	default:
		for _, r := range batch {
			w.finish(r, err)
		}
		if batch[0].solo && errors.Is(err, queue.ErrFull) {
			w.noRoom(err)
		}
	}
}

// together runs the batch in the transaction that lock began, commits it and
// answers everybody. With an error nothing of it stands and nobody was answered.
func (w *writer) together(batch []*request) error {
	t := w.begin()
	for _, r := range batch {
		before := t.writes
		r.err = r.run(t)
		if r.err != nil && (fromSQL(r.err) || t.writes != before) {
			return w.undo(r.err)
		}
	}
	if err := t.seal(w.slot); err != nil {
		return w.undo(err)
	}
	switch err := w.commit(w.c); {
	case err == nil:
	case t.writes == 0:
		return w.undo(err)
	default:
		w.names = newNames()
		stands, err := w.doubt(t, err)
		if errors.Is(err, queue.ErrUnknown) {
			for _, r := range batch {
				w.finish(r, err)
			}
			return nil
		}
		if !stands {
			return err
		}
	}
	w.wal.dirty = w.wal.dirty || t.writes > 0
	for _, r := range batch {
		w.finish(r, r.err)
	}
	return nil
}

// undo rolls back after an error before the commit, and answers what its callers
// are to be told.
func (w *writer) undo(err error) error {
	if syncFailed(err) {
		w.fail("the disk did not confirm a write", err)
		return w.closed
	}
	w.rollback()
	return err
}

// rollback ends a transaction of which nothing shall stand, if it still does.
func (w *writer) rollback() {
	w.names = newNames()
	if !w.c.inTransaction() {
		return
	}
	if err := w.c.script(`ROLLBACK`); err != nil && w.c.inTransaction() {
		// A connection that cannot be brought out of its transaction would write
		// the next one into it.
		w.fail("a transaction could not be undone", err)
	}
}

func (w *writer) hasFailed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}
