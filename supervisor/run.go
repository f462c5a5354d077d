package supervisor

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/process"
)

// run is one claimed job, from the claim until it is recorded and nothing of
// it lives.
type run struct {
	pool  *pool
	job   queue.Job
	lease *lease
	since time.Time

	// recorded, if not nil, is told once how the run ended: what the queue
	// answered, or the error with which it was not recorded.
	recorded func(*run, Verdict, queue.Settled, error)

	mu   sync.Mutex
	view RunStatus
}

// begin takes a claimed job under the pool's care; its lease is renewed every
// so often. It answers nil where the job must not run here: a process of an
// earlier run of it still lives. Then it is given back.
func (p *pool) begin(claimed queue.Claimed, every time.Duration, recorded func(*run, Verdict, queue.Settled, error)) *run {
	c, job := p.crew, claimed.Job
	r := &run{pool: p, job: job, since: time.Now(), lease: c.keeper.hold(claimed, every), recorded: recorded}
	r.view = RunStatus{
		ID: job.ID, Kind: job.Kind, Key: job.Key,
		Fence: job.Fence, Attempt: job.Attempt, Since: c.clock.Now(),
	}
	if !c.runs.add(r) {
		c.children.Go(func() {
			v := Judge(Evidence{Handler: p.handler, GivenBack: "a process of an earlier run still lives here"})
			delay := time.Second
			v.Outcome.After = &delay
			r.record(v)
		})
		return nil
	}
	c.log.Debug("run begins", "job", job.ID, "kind", job.Kind, "key", visible(job.Key), "fence", job.Fence, "attempt", job.Attempt)
	c.touched()
	return r
}

// control is how the run is reached and watched while its child works.
func (r *run) control(seen transcript) control {
	return control{
		lost:      r.lease.lost,
		cancelled: r.lease.cancelled,
		stop:      r.pool.crew.stops.stop,
		abort:     r.pool.crew.stops.abort,
		seen:      seen,
		log:       r.pool.crew.log,
		atWork: func(pid int, kill func()) {
			r.lease.onLost(kill)
			r.see(func(v *RunStatus) {
				v.PID = pid
				if r.pool.handler.Timeout > 0 {
					v.TimeoutAt = r.pool.crew.clock.Now().Add(r.pool.handler.Timeout)
				}
			})
		},
		answered: r.lease.disarm,
		progress: func(percent *float64, message string) {
			r.see(func(v *RunStatus) {
				if percent != nil {
					v.Percent = percent
				}
				if message != "" {
					v.Message = queue.CutText(visible(message), maxQuote)
				}
				v.ProgressAt = r.pool.crew.clock.Now()
			})
		},
		stopping: func(reason Stop) {
			r.see(func(v *RunStatus) { v.Stopping = string(reason) })
		},
	}
}

// see changes what Status shows of the run.
func (r *run) see(change func(*RunStatus)) {
	r.mu.Lock()
	change(&r.view)
	r.mu.Unlock()
	r.pool.crew.touched()
}

// status is what Status shows of the run.
func (r *run) status() RunStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view
}

// conclude ends a run whose child is being killed: done is recorded at once,
// anything else when nothing of the tree lives any more. Until then the lease
// is renewed, so that nobody else is given the job.
func (r *run) conclude(v Verdict, proc *process.Child) {
	if v.LeaseLost || v.Outcome.Is == queue.RunDone {
		r.settle(v)
		r.lease.release()
		r.awaitTree(proc)
		r.pool.crew.runs.remove(r)
		return
	}
	if !r.awaitTree(proc) {
		r.giveUp(v, fmt.Errorf("%w: %v", errNotGone, proc.Left()))
		r.lease.release()
		r.pool.crew.runs.remove(r)
		return
	}
	r.record(v)
}

// awaitTree waits until the tree is gone; false if it is given up.
func (r *run) awaitTree(proc *process.Child) (gone bool) {
	timer := time.NewTimer(goneWait)
	defer timer.Stop()
	for {
		select {
		case <-proc.Gone():
			return true
		case <-r.pool.crew.stops.given:
			return false
		case <-timer.C:
			left := proc.Left()
			r.see(func(v *RunStatus) { v.Left = left })
			timer.Reset(10 * goneWait)
		}
	}
}

// giveBack returns a job that was not handed over.
func (r *run) giveBack(why string) {
	r.record(Judge(Evidence{Handler: r.pool.handler, GivenBack: why, Lost: fired(r.lease.lost)}))
}

// record settles a run of which nothing lives, and ends it. Once it is settled
// the job may be claimed again, before this side has heard of it: its next run
// need not wait for the end of this one.
func (r *run) record(v Verdict) {
	r.pool.crew.runs.yield(r)
	r.settle(v)
	r.lease.release()
	r.pool.crew.runs.remove(r)
}

// tell passes the end on to whoever asked to know.
func (r *run) tell(v Verdict, s queue.Settled, err error) {
	if r.recorded != nil {
		r.recorded(r, v, s, err)
	}
}

// registry knows the runs that are not over: those that may have living
// processes, of each job one at most, and those that are only to be recorded.
type registry struct {
	mu        sync.Mutex
	living    map[int64]*run
	recording map[*run]struct{}
}

// add answers false if the job has a run here that lives; r then is only to be
// recorded.
func (g *registry) add(r *run) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.living == nil {
		g.living, g.recording = make(map[int64]*run), make(map[*run]struct{})
	}
	if g.living[r.job.ID] != nil {
		g.recording[r] = struct{}{}
		return false
	}
	g.living[r.job.ID] = r
	return true
}

// yield notes that nothing of a run lives any more, before it is recorded.
func (g *registry) yield(r *run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leaveLocked(r)
	g.recording[r] = struct{}{}
}

func (g *registry) remove(r *run) {
	g.mu.Lock()
	g.leaveLocked(r)
	delete(g.recording, r)
	g.mu.Unlock()
	r.pool.crew.touched()
	r.pool.crew.wake()
}

// leaveLocked gives up the run's own place; another run may have taken it.
func (g *registry) leaveLocked(r *run) {
	if g.living[r.job.ID] == r {
		delete(g.living, r.job.ID)
	}
}

func (g *registry) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.living) + len(g.recording)
}

func (g *registry) all() []*run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Values(g.living)), maps.Keys(g.recording))
}
