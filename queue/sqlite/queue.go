package sqlite

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
)

// Options is what code passes to Create and Open. The zero value works.
type Options struct {
	Clock  queue.Clock    // nil: the machine's
	Logger hclog.Logger   // nil: none
	Random func() float64 // a number in [0, 1), for the jitter of retries; nil: math/rand. Called by one goroutine at a time

	// LockWait is how long a write waits for a database that other processes
	// hold before it answers queue.ErrBusy; 0: 5 s.
	LockWait time.Duration
	// TakeTurns lets the writes of such queues, in all processes, come one after
	// the other. For commands, of which many may run at once beside a service.
	TakeTurns bool
	// Migrate lets Open bring an older schema up to date, after a backup beside the
	// database. For the service.
	Migrate bool
	// NetworkFS uses a database on a network file system, which else is refused.
	NetworkFS bool
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.LockWait = cmp.Or(o.LockWait, lockWait)
	return o
}

// Queue is an open database. All methods may be called by several goroutines.
// After Close, and after a disk that did not confirm a write, every method
// answers queue.ErrClosed; after the file was moved, deleted or replaced, which is
// noticed before the next write and within a second, queue.ErrMoved too.
type Queue struct {
	path       string
	files      *files
	release    func() // once every connection is closed
	uid        [16]byte
	fenceFloor int64 // from which the fences of new jobs start
	clock      queue.Clock
	boot       string
	writer     *writer
	pool       *pool
	random     func() float64
	lockWait   time.Duration
	logger     hclog.Logger
	sightings  sightings // of the leases of other boots

	closing  chan struct{}        // closed when the queue is no longer to be used
	why      error                // why it is not, set before that; wraps queue.ErrClosed
	leftOpen atomic.Pointer[conn] // by part; nil: none
	close    func() error

	mu       sync.Mutex     // held to close closing, and to add a watcher while it is open
	watchers sync.WaitGroup // of Changes, backups and patrol

	backups atomic.Int32 // under way: they hold the write-ahead log open
}

// UID tells this queue from every other, in hex; one that is restored from a snapshot
// keeps it.
func (q *Queue) UID() string { return hex.EncodeToString(q.uid[:]) }

// Path is the database's absolute path, symbolic links resolved.
func (q *Queue) Path() string { return q.path }

// Close answers what waits already, refuses what comes later and closes the
// file. It waits for reads under way and at most a few seconds for a database
// that others hold. Calling it again answers the same.
func (q *Queue) Close() error { return q.close() }

// refuse makes every method answer why from here on, which wraps queue.ErrClosed.
func (q *Queue) refuse(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed() {
		q.why = why
		close(q.closing)
	}
}

func (q *Queue) closed() bool {
	select {
	case <-q.closing:
		return true
	default:
		return false
	}
}

func (q *Queue) shut() error {
	q.refuse(queue.ErrClosed)
	q.watchers.Wait()
	err := errors.Join(q.writer.stop(), q.pool.close(), q.saveLog())
	if q.leftOpen.Load() == nil {
		q.release()
	}
	if err != nil {
		return fmt.Errorf("close %s: %w", q.path, err)
	}
	return nil
}

// write hands one request to the writer and waits for its answer; act names it
// in errors. run may be called more than once, each time on a database in which
// its earlier calls left nothing, so it must not add to what it found before.
func (q *Queue) write(ctx context.Context, act string, r *request) error {
	if err := q.writer.submit(ctx, r); err != nil {
		return fmt.Errorf("%s: %w", act, err)
	}
	return nil
}

// read runs f on a snapshot of the database; act names it in errors.
func (q *Queue) read(ctx context.Context, act string, f func(*snapshot) error) error {
	return q.readOn(ctx, act, anyReader, f)
}

// readFirst is read that may use the connection kept for what others wait for.
func (q *Queue) readFirst(ctx context.Context, act string, f func(*snapshot) error) error {
	return q.readOn(ctx, act, keptReader, f)
}

func (q *Queue) readOn(ctx context.Context, act string, r reader, f func(*snapshot) error) error {
	c, err := q.pool.take(ctx, q.closing, r)
	if errors.Is(err, queue.ErrClosed) {
		err = q.why
	}
	if err != nil {
		return fmt.Errorf("%s: %w", act, err)
	}
	err = q.snapshot(ctx, c.conn, f)
	q.pool.give(c)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err())):
		// An interrupted statement knows no more than that; the caller's own word
		// tells why.
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s: %w", act, err)
}
