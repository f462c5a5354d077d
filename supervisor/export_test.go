package supervisor

import (
	"context"
	"time"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/process"
	"github.com/hashicorp/go-hclog"
)

// Keeper opens the keeper of leases to tests that own the clock.
type Keeper struct{ k *keeper }

// Retired counts the pools of earlier configurations that are still known.
func (s *Supervisor) Retired() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.retired)
}

// Lease is one lease of a Keeper.
type Lease struct{ l *lease }

func NewKeeper(q Queue, c queue.Clock) *Keeper {
	return &Keeper{newKeeper(q, c, hclog.NewNullLogger())}
}

func (k *Keeper) Hold(c queue.Claimed, every time.Duration, kill func()) *Lease {
	l := k.k.hold(c, every)
	l.onLost(kill)
	return &Lease{l}
}

func (k *Keeper) Sweep()                          { k.k.sweep() }
func (k *Keeper) LoseAll(why string)              { k.k.loseAll(why) }
func (k *Keeper) Round(ctx context.Context) error { return k.k.round(ctx) }
func (k *Keeper) Renew(ctx context.Context)       { k.k.renew(ctx) }

func (l *Lease) Release()        { l.l.release() }
func (l *Lease) Disarm() bool    { return l.l.disarm() }
func (l *Lease) Cancelled() bool { return fired(l.l.cancelled) }

func (l *Lease) Ensure(stop <-chan struct{}) bool { return l.l.ensure(stop) }

// StopOf is for what a child was stopped, told by a timeout or an abort, that
// ended as exit says.
func StopOf(child *process.Child, grace time.Duration, abort bool, exit process.Exit) Stop {
	l := newLadder(child, grace)
	defer l.leave()
	if abort {
		l.abort(StopAbort)
	} else {
		l.begin(StopTimeout, nil)
	}
	return l.stop(exit)
}

// ConverseCrowded hands a job to a child that has so many lines waiting for it
// that one more finds no room. It answers also whether the child ended.
func ConverseCrowded(h *config.Handler) (e Evidence, gone bool) {
	c, err := startLines(h, Environment(h, "", ""), &logTranscript{log: hclog.NewNullLogger()})
	if err != nil {
		return Evidence{StartError: err}, true
	}
	defer func() { _ = c.proc.Close() }()
	for err == nil { // more than the pipe holds, so that it stays full
		err = c.out.put(make([]byte, 64<<10))
	}
	nothing := control{log: hclog.NewNullLogger(), seen: c.seen,
		atWork: func(int, func()) {}, stopping: func(Stop) {}, answered: func() bool { return true }}
	e = c.converse(&childproto.Job{ID: 1, Kind: h.Kind, Key: "1", Payload: []byte("{}")}, nothing)
	<-c.proc.Gone()
	return e, ended(c.proc)
}

// FloodLog logs a line n times as what one run printed.
func FloodLog(log hclog.Logger, line string, n int) {
	t := &logTranscript{log: log}
	t.turn(1, 1)
	for range n {
		t.stderr([]byte(line), false)
	}
	t.turn(0, 0)
}

// MaxRunLog is what one run adds to the log at most.
const MaxRunLog = maxRunLog

// Registry opens the registry of runs.
type Registry struct {
	g    registry
	pool *pool
}

// Run is one run of a Registry.
type Run struct{ r *run }

func NewRegistry() *Registry {
	return &Registry{pool: &pool{crew: &crew{wake: func() {}, touched: func() {}}}}
}

func (g *Registry) Run(job int64) Run { return Run{&run{pool: g.pool, job: queue.Job{ID: job}}} }
func (g *Registry) Add(r Run) bool    { return g.g.add(r.r) }
func (g *Registry) Yield(r Run)       { g.g.yield(r.r) }
func (g *Registry) Remove(r Run)      { g.g.remove(r.r) }
func (g *Registry) Count() int        { return g.g.count() }
