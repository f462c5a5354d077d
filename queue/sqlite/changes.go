package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How Changes looks. A write to the WAL is seen before the commit it belongs to
// can be read: before its sync, which a slow disk may take long over. So an event
// is followed by looks until there is something new to be read.
const (
	firstLook  = 100 * time.Microsecond // between the first two after an event; then twice as long each time
	lastLook   = 30 * time.Millisecond  // the longest between two
	enoughLook = 2 * time.Second        // so much later an event was of no commit
	slowLook   = 500 * time.Millisecond // always, whatever the events say
)

// Changes answers a channel that gets a signal after every commit, by whichever
// process, as soon as it can be read: at most lastLook later where the system
// tells of file changes, else within half a second. Signals that nobody took are
// one. The channel is closed when ctx ends or the queue closes, also by itself:
// every method then tells why. Each call watches anew.
func (q *Queue) Changes(ctx context.Context) (<-chan struct{}, error) {
	if q.closed() {
		return nil, fmt.Errorf("watch for changes: %w", q.why)
	}
	c, err := q.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch for changes: %w", err)
	}
	w := &watch{q: q, c: c, signal: make(chan struct{}, 1)}
	if w.version, err = w.read(); err != nil {
		_ = q.part(c)
		return nil, fmt.Errorf("watch for changes: %w", err)
	}
	notices, stop := w.notify()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed() {
		_ = errors.Join(stop(), q.part(c))
		return nil, fmt.Errorf("watch for changes: %w", q.why)
	}
	q.watchers.Go(func() {
		defer close(w.signal)
		defer func() { _ = errors.Join(stop(), q.part(c)) }()
		w.run(ctx, notices)
	})
	return w.signal, nil
}

// watch is one Changes. Its connection is its own: data_version tells of commits
// by other connections only
// (https://www.sqlite.org/pragma.html#pragma_data_version).
type watch struct {
	q       *Queue
	c       *conn
	version int64
	signal  chan struct{}
}

// notices tell of writes to the WAL. The zero notices tell of none.
type notices struct {
	events <-chan fsnotify.Event
	errors <-chan error // such as an overflow: some events were lost
}

// notify begins to watch the WAL, where the system can.
func (w *watch) notify() (from notices, stop func() error) {
	n, err := fsnotify.NewWatcher()
	if err == nil {
		if err = n.Add(w.q.path + "-wal"); err == nil {
			return notices{n.Events, n.Errors}, n.Close
		}
		_ = n.Close()
	}
	w.q.logger.Warn("no notice of file changes: new jobs are seen a little later", "database", w.q.path, "error", err)
	return notices{}, func() error { return nil }
}

func (w *watch) run(ctx context.Context, from notices) {
	slow := time.NewTicker(slowLook)
	defer slow.Stop()
	again := time.NewTimer(0)
	defer again.Stop()
	var after looks
	for {
		event := false
		select {
		case <-ctx.Done():
			return
		case <-w.q.closing:
			return
		case _, ok := <-from.events:
			if !ok {
				from = notices{} // only the slow look is left
			}
			event = true
		case _, ok := <-from.errors:
			if !ok {
				from = notices{}
			}
			event = true
		case <-again.C:
		case <-slow.C:
		}
		if wait, ok := after.next(event, w.look()); ok {
			again.Reset(wait)
		}
	}
}

// looks are those that follow an event.
type looks struct {
	wait time.Duration // before the next; 0: none follows
	left time.Duration // until it is enough
}

// next tells when to look again after a look that was made, if at all: after an
// event, or as long as a look that followed one has found nothing new. What a look
// finds that is made at an event is from before: one commit's first write comes
// when all earlier commits can be read.
func (l *looks) next(event, found bool) (wait time.Duration, ok bool) {
	switch {
	case event:
		*l = looks{wait: firstLook, left: enoughLook}
	case found || l.left <= 0:
		*l = looks{}
	default:
		l.wait = min(2*l.wait, lastLook)
	}
	l.left -= l.wait
	return l.wait, l.wait > 0
}

// look signals if there was a commit since the look before, and says so.
func (w *watch) look() (found bool) {
	version, err := w.read()
	if err == nil && version == w.version {
		return false
	}
	// What cannot be read is told too: whoever waits finds out why.
	w.version = version
	select {
	case w.signal <- struct{}{}:
	default:
	}
	return true
}

func (w *watch) read() (int64, error) {
	return w.c.number(context.Background(), `PRAGMA data_version`)
}
