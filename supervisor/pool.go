package supervisor

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/process"
	"github.com/hashicorp/go-hclog"
)

// pool is a handler's slots under one configuration of it. A slot is taken
// from before its job is claimed until the tree of its child is gone.
type pool struct {
	crew    *crew
	handler *config.Handler
	env     []string
	files   handlerFiles
	streak  *streak // of the kind, shared with the pools before
	log     hclog.Logger
	retired chan struct{} // closed, under mu: takes no more jobs, its children end

	mu       sync.Mutex
	older    []*pool  // retired pools of the same kind whose slots still count
	used     int      // slots taken
	starting int      // lines: of these, children not ready yet
	idle     []*child // lines: of these, children ready and free; the last used last
	running  int      // of these, with a job
	failing  failing
	trial    *run   // plain: the one run that may find out whether a failing handler starts
	started  bool   // plain: a process was started at least once
	waiting  int64  // jobs due, as the queue said last
	warning  string // the last fault of a child that cost no job anything
}

// crew is what the pools of one supervisor share.
type crew struct {
	queue    Queue
	clock    queue.Clock
	log      hclog.Logger
	keeper   *keeper
	late     *lateNotes
	stops    *stops
	folder   string // parent of private folders
	database string
	binary   string

	wake    func()      // something changed for the dispatcher
	touched func()      // something changed for Status
	emptied func(*pool) // all slots of a retired pool are free
	lose    func(error) // the queue has given its last word

	contents contents       // of the handlers' files
	children sync.WaitGroup // goroutines of runs and children
	runs     registry

	unrecorded atomic.Int64 // runs that were given up
}

func newPool(c *crew, h *config.Handler, s *streak, older []*pool) *pool {
	return &pool{
		crew:    c,
		handler: h,
		env:     Environment(h, c.database, c.binary),
		files:   c.contents.of(h),
		streak:  s,
		log:     c.log.With("kind", h.Kind),
		retired: make(chan struct{}),
		older:   older,
	}
}

// retire makes the pool take no more jobs. Its running jobs end as they would.
// From here on the number of its slots in use only falls.
func (p *pool) retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !fired(p.retired) {
		close(p.retired)
	}
}

// taken is how many slots are in use.
func (p *pool) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// freeLocked is how many slots are free, those of the pool's predecessors
// taken into account: two configurations of a handler never run more than one
// may.
func (p *pool) freeLocked() int {
	free := p.handler.Concurrency - p.used
	p.older = slices.DeleteFunc(p.older, func(o *pool) bool { return o.taken() == 0 })
	for _, o := range p.older {
		free -= o.taken()
	}
	return max(0, free)
}

// prepare is told how many jobs wait. It starts children for them and for
// warm, and answers how many jobs can be handed over now.
func (p *pool) prepare(waiting int64) (places int) {
	// Files are looked at before the lock is taken: a slow disk must hold up
	// the dispatcher alone.
	if p.handler.Protocol == config.Plain {
		p.diagnose(waiting)
	} else {
		p.files.now()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = waiting
	if fired(p.retired) {
		return 0
	}
	if p.handler.Protocol == config.Plain {
		return min(p.plainPlacesLocked(), int(min(waiting, int64(p.handler.Concurrency))))
	}
	p.dropStaleLocked()
	p.startLocked(waiting)
	return len(p.idle)
}

// expect is told how many jobs wait while none is to be handed out.
func (p *pool) expect(waiting int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = waiting
}

// plainPlacesLocked is how many processes may be started. While the handler is
// failing that is one at a time, a trial; a trial that starts ends the failing.
func (p *pool) plainPlacesLocked() int {
	switch free := p.freeLocked(); {
	case p.failing.reason == "":
		return free
	case p.trial != nil || p.failing.waits(time.Now()):
		return 0
	default:
		return min(free, 1)
	}
}

// diagnose looks at a failing handler before a job is claimed for its trial.
// What can be seen from outside counts as a failed start, and no job pays.
func (p *pool) diagnose(waiting int64) {
	p.mu.Lock()
	trial := waiting > 0 && p.failing.reason != "" && p.plainPlacesLocked() > 0
	p.mu.Unlock()
	if !trial {
		return
	}
	err := process.Diagnose(p.handler.Command, p.handler.Dir, EnvironmentPath(p.env))
	if err == nil {
		return
	}
	p.mu.Lock()
	told := p.failing.failed(err.Error(), time.Now())
	p.mu.Unlock()
	told.tell(p.log)
	p.crew.touched()
}

// startLocked starts the children that jobs wait for, and those kept warm. A
// handler that failed is tried with one child alone.
func (p *pool) startLocked(waiting int64) {
	have := len(p.idle) + p.starting
	want := int(min(waiting, int64(p.handler.Concurrency))) - have
	want = max(want, p.handler.Warm-have-p.running)
	want = min(want, p.freeLocked())
	if p.failing.reason != "" {
		if p.starting > 0 || p.failing.waits(time.Now()) {
			return
		}
		want = min(want, 1)
	}
	for range want {
		p.used++
		p.starting++
		p.crew.children.Go(p.live)
	}
}

// dropStaleLocked sends away idle children that were started from another
// content of the handler's files than was seen last.
func (p *pool) dropStaleLocked() {
	digest := p.files.last()
	p.idle = slices.DeleteFunc(p.idle, func(c *child) bool {
		if digest == "" || c.digest == digest {
			return false
		}
		c.leaving = true
		c.work <- nil
		return true
	})
}

// runPlain runs one job in a process of its own, and owns its slot.
func (p *pool) runPlain(r *run) {
	defer p.freeSlot()
	if proc := p.workPlain(r); proc != nil {
		awaitGone(proc, p.crew.stops.given)
		_ = proc.Close()
	}
}

// workPlain is runPlain until the run is recorded. It answers the process, if
// there was one: it is killed and may not be gone.
func (p *pool) workPlain(r *run) *process.Child {
	defer p.jobEnded()
	p.mu.Lock()
	started := p.started
	p.mu.Unlock()
	seen := &logTranscript{log: p.log}
	seen.turn(r.job.ID, r.job.Fence)
	defer seen.turn(0, 0)
	if !r.lease.ensure(p.crew.stops.drain) {
		p.learn(r, Verdict{}, Evidence{})
		r.giveBack("the service stops")
		return nil
	}
	control := r.control(seen)
	atWork := control.atWork
	control.atWork = func(pid int, kill func()) {
		atWork(pid, kill)
		p.begun(r)
	}
	work := &plainRun{
		handler: p.handler, files: p.files, env: p.env, folder: p.crew.folder,
		job: wireJob(&r.job, p.handler, p.crew.clock.Now()), control: control,
	}
	e, proc := work.work()
	e.StartedBefore = started
	v := Judge(e)
	p.learn(r, v, e)
	if proc == nil {
		r.record(v)
		return nil
	}
	r.conclude(v, proc)
	return proc
}

// begun notes that the process of a plain run has been started: the handler
// starts, and whatever the run comes to, others need not wait for its end.
func (p *pool) begun(r *run) {
	p.mu.Lock()
	p.started = true
	told := p.failing.starts()
	if p.trial == r {
		p.trial = nil
	}
	p.mu.Unlock()
	if told == nil {
		return
	}
	told.tell(p.log)
	p.crew.touched()
	p.crew.wake()
}

// learn takes from a verdict what it says about the handler. It ends the trial
// that r was.
func (p *pool) learn(r *run, v Verdict, e Evidence) {
	var told news
	p.mu.Lock()
	if p.trial == r {
		p.trial = nil
	}
	switch {
	case v.Failing && e.StartError != nil:
		told = p.failing.failed(e.StartError.Error(), time.Now())
	case v.Failing:
		told = p.failing.failed(v.Reason, time.Now())
	case e.Answer != nil, e.Exit != nil && p.handler.Protocol == config.Plain:
		p.failing.served()
	}
	p.mu.Unlock()
	told.tell(p.log)
}

// jobEnded notes that one job less runs.
func (p *pool) jobEnded() {
	p.mu.Lock()
	p.running--
	p.mu.Unlock()
	p.crew.touched()
}

// freeSlot gives back the slot of a tree that is gone.
func (p *pool) freeSlot() {
	p.release(1)
	p.crew.touched()
	p.crew.wake()
}

// release frees slots. A retired pool whose last one is free is done with.
func (p *pool) release(n int) {
	p.mu.Lock()
	p.used -= n
	over := p.used == 0 && fired(p.retired)
	p.mu.Unlock()
	if over {
		p.crew.emptied(p)
	}
}
