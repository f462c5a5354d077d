// Package upkeep looks after a queue while a supervisor works on it: it lets
// finished jobs be forgotten once they have been kept for long enough, and makes
// snapshots by the clock.
//
// Both give way to the work itself. Forgetting takes about a tenth of the time
// that the queue can write in, and steps back while others hold the queue or the
// disk is full. When a snapshot is due is read from the snapshots that are there,
// so that a restart neither repeats one nor leaves one out.
//
// The package knows no SQL and no configuration file. How a snapshot is made and
// verified is the queue's.
package upkeep

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
)

// Queue is what upkeep needs of a queue.
type Queue interface {
	Prune(context.Context, queue.Pruning) (queue.Pruned, error)
	// Backup makes a snapshot at path, which must not exist: whole and verified,
	// or not at all.
	Backup(ctx context.Context, path string, progress func(done, total int64)) (queue.Backup, error)
}

// Settings is what an operator wants; they may change while Run runs.
type Settings struct {
	Retention queue.Retention
	Backup    *Backup // nil: no snapshots
}

// Backup says when snapshots are made and where they are kept.
type Backup struct {
	Every  time.Duration // above 0
	Folder string        // absolute
	Make   bool          // the folder is made if it alone is missing; else it must be there
	Keep   int           // at least 1
}

// Options is what New needs. Queue, Clock, Database and UID must be set.
type Options struct {
	Queue    Queue
	Clock    queue.Clock
	Logger   hclog.Logger // nil: no log
	Database string       // absolute; snapshots are named after it
	UID      string       // of the queue, in hex: snapshots are named after it, too
	Settings Settings

	// OnStatus is called after what Status answers has changed. It must not wait.
	// Nil: nobody is told.
	OnStatus func()
}

// Upkeep looks after one queue. Use New; it is good for one Run.
type Upkeep struct {
	opt    Options
	log    hclog.Logger
	series series
	pruned chan struct{} // capacity 1: the settings changed, for who prunes
	saved  chan struct{} // capacity 1: for who makes snapshots

	mu       sync.Mutex
	settings Settings
	status   Status
}

// New returns an Upkeep that does nothing until Run.
func New(opt Options) *Upkeep {
	if opt.Logger == nil {
		opt.Logger = hclog.NewNullLogger()
	}
	if opt.OnStatus == nil {
		opt.OnStatus = func() {}
	}
	return &Upkeep{
		opt: opt, log: opt.Logger, series: seriesOf(opt.Database, opt.UID), settings: opt.Settings,
		pruned: make(chan struct{}, 1), saved: make(chan struct{}, 1),
	}
}

// Run works until ctx ends. What goes wrong is logged, shown in Status and tried
// again: none of it is a reason to end.
func (u *Upkeep) Run(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { u.prune(ctx) })
	both.Go(func() { u.save(ctx) })
	both.Wait()
}

// Apply puts other settings to use. What failed under the old ones is tried again
// at once.
func (u *Upkeep) Apply(s Settings) {
	u.mu.Lock()
	u.settings = s
	u.mu.Unlock()
	for _, c := range []chan struct{}{u.pruned, u.saved} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// inUse is the settings of this moment.
func (u *Upkeep) inUse() Settings {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.settings
}

// sleep waits for so long, or until the settings change: then they are fresh. It
// answers not to go on again when ctx has ended.
func (u *Upkeep) sleep(ctx context.Context, wait time.Duration, changed <-chan struct{}) (again, fresh bool) {
	select {
	case <-ctx.Done():
		return false, false
	case <-changed:
		return ctx.Err() == nil, true
	case <-time.After(wait):
		return ctx.Err() == nil, false
	}
}

// backoff is how long to wait after so many failures in a row, the first being 1.
func backoff(failures int, first, most time.Duration) time.Duration {
	wait := first
	for i := 1; i < failures && wait < most; i++ {
		wait *= 2
	}
	return min(wait, most)
}
