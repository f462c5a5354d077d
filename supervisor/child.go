package supervisor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/process"
)

// child is a lines child in its pool: it takes one job after another until it
// is no longer wanted or at fault.
type child struct {
	pool   *pool
	line   *lineChild
	digest string // of the handler's files when it was started
	seen   *logTranscript
	work   chan *run // capacity 1; nil: the place was given back, or the child is sent away

	leaving bool // under the pool's lock: it will take no job any more
}

// live is the life of one child, from its start until its tree is gone. It
// owns the slot.
func (p *pool) live() {
	defer p.freeSlot()
	c := &child{
		pool:   p,
		digest: p.files.now().digest,
		seen:   &logTranscript{log: p.log},
		work:   make(chan *run, 1),
	}
	defer c.seen.turn(0, 0)
	line, err := startLines(p.handler, p.env, c.seen)
	if err != nil {
		p.notReady(err)
		return
	}
	c.line = line
	if err := line.awaitReady(p.retired); err != nil {
		if p.notReady(err); !errors.Is(err, errNotWanted) {
			err = nil // it is counted already
		}
		c.end(err)
		return
	}
	p.ready(c)
	for {
		again, why := c.turn()
		if !again {
			c.end(why)
			return
		}
		c.free()
	}
}

// turn waits for a job and works on it. It answers whether the child takes
// another, or why it must end, as end wants to know it.
func (c *child) turn() (again bool, why error) {
	r, err := c.next()
	switch {
	case r == nil:
		return false, err
	case err != nil:
		c.decline(r, err)
		return false, err
	}
	return c.run(r)
}

// decline gives back a job that came just as the child went.
func (c *child) decline(r *run, why error) {
	defer c.pool.jobEnded()
	r.giveBack("its child ended before the job was handed over: " + why.Error())
}

// ready puts a child that can take a job among the idle ones.
func (p *pool) ready(c *child) {
	p.mu.Lock()
	p.starting--
	told := p.failing.starts()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	told.tell(p.log)
	p.crew.touched()
	p.crew.wake()
}

// notReady notes that a child cannot take a job.
func (p *pool) notReady(err error) {
	var told news
	p.mu.Lock()
	p.starting--
	if !errors.Is(err, errNotWanted) {
		told = p.failing.failed(queue.CutText(err.Error(), queue.MaxReason), time.Now())
	}
	p.mu.Unlock()
	told.tell(p.log)
	p.crew.touched()
	p.crew.wake()
}

// next waits for a job. Without one it answers why the child must end; with
// both, the job came too late.
func (c *child) next() (*run, error) {
	// What the child said first is heard first, or the fault of one job would
	// be taken for that of the next.
	select {
	case in, open := <-c.line.inbox:
		if err := c.hear(in, open); err != nil {
			return c.withdraw(err)
		}
	default:
	}
	idle, stop := after(c.pool.handler.IdleTimeout)
	defer func() { stop() }()
	for {
		select {
		case r := <-c.work:
			if r == nil {
				return nil, errNotWanted
			}
			return r, nil
		case in, open := <-c.line.inbox:
			if err := c.hear(in, open); err != nil {
				return c.withdraw(err)
			}
		case <-c.line.proc.Exited():
			return c.withdraw(fmt.Errorf("it ended between jobs: %s", exitWords(c.line.proc.Exit())))
		case <-c.pool.retired:
			return c.withdraw(errNotWanted)
		case <-idle:
			if c.dispensable() {
				return nil, errNotWanted
			}
			idle, stop = after(c.pool.handler.IdleTimeout)
		}
	}
}

func (c *child) hear(in inbound, open bool) error {
	if !open {
		return errors.New("it closed its stdout between jobs")
	}
	return c.line.idleMessage(in)
}

// withdraw takes the child out of the idle ones. If its place is reserved it
// waits for what comes of that.
func (c *child) withdraw(why error) (*run, error) {
	c.pool.mu.Lock()
	reserved := !c.takeOutLocked()
	c.leaving = true
	c.pool.mu.Unlock()
	if !reserved {
		return nil, why
	}
	return <-c.work, why
}

// dispensable takes an idle child out unless it is kept warm or reserved.
func (c *child) dispensable() bool {
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle)+p.running+p.starting <= p.handler.Warm || !c.takeOutLocked() {
		return false
	}
	c.leaving = true
	return true
}

func (c *child) takeOutLocked() bool {
	i := slices.Index(c.pool.idle, c)
	if i < 0 {
		return false
	}
	c.pool.idle = slices.Delete(c.pool.idle, i, i+1)
	return true
}

// run works on one job; it answers as turn does.
func (c *child) run(r *run) (again bool, why error) {
	p := c.pool
	defer p.jobEnded()
	c.seen.turn(r.job.ID, r.job.Fence)
	defer c.seen.turn(0, 0)
	if !r.lease.ensure(p.crew.stops.drain) {
		r.giveBack("the service stops")
		return true, nil // it was told nothing of the job
	}
	e := c.line.converse(wireJob(&r.job, p.handler, p.crew.clock.Now()), r.control(c.seen))
	v := Judge(e)
	fault := c.afterAnswer(&e, &v, fired(r.lease.lost))
	p.learn(r, v, e)
	if e.Exit != nil {
		r.conclude(v, c.line.proc)
		return false, fault
	}
	p.crew.children.Go(func() { r.record(v) })
	if p.handler.MaxJobs > 0 && c.line.served >= p.handler.MaxJobs {
		return false, errNotWanted
	}
	return true, nil
}

// afterAnswer is what a child did wrong when it ended, unasked, after it had
// answered: the job has its outcome, so this is the child's own fault. So it is
// where the next job was handed over in that moment and stayed unread, or could
// not be handed over: the handler does start, and that job is for the next child.
// A child that was to be replaced anyway may end by itself.
func (c *child) afterAnswer(e *Evidence, v *Verdict, lost bool) error {
	if e.GivenBack != "" {
		return errNotReading
	}
	if e.Exit == nil || lost || c.line.served == 0 || e.Stop != "" && e.Stop != StopProtocol {
		return nil
	}
	last := c.pool.handler.MaxJobs > 0 && c.line.served >= c.pool.handler.MaxJobs
	switch {
	case e.ProtocolError != nil && v.Failing:
		v.Failing = false
		return fmt.Errorf("broken protocol: %w", e.ProtocolError)
	case e.Stop != "":
		return nil
	case e.Answer != nil && last && *e.Exit == process.Exit{}:
		return nil
	case e.Answer == nil && !v.Failing:
		return nil
	}
	v.Failing = false
	return fmt.Errorf("it ended after its answer: %s", exitWords(*e.Exit))
}

// free puts the child back among the idle ones.
func (c *child) free() {
	c.pool.mu.Lock()
	c.pool.idle = append(c.pool.idle, c)
	c.pool.mu.Unlock()
	c.pool.crew.wake()
}

// end ends the child and waits until its tree is gone. why is errNotWanted for
// a child without fault, nil where the fault was a run's and is recorded.
func (c *child) end(why error) {
	p := c.pool
	if errors.Is(why, errNotWanted) {
		c.line.dismiss(p.crew.stops.abort)
	}
	c.line.finish()
	if why != nil && !errors.Is(why, errNotWanted) {
		c.blame(why)
	}
	awaitGone(c.line.proc, p.crew.stops.given)
	_ = c.line.proc.Close()
}

// blame notes a fault that cost no job anything. A child that never served one
// counts as a failed start, or it would be replaced in a tight circle.
func (c *child) blame(why error) {
	p, reason := c.pool, queue.CutText(why.Error(), queue.MaxReason)
	told := news(func(log hclog.Logger) {
		log.Warn("child replaced", "pid", c.line.proc.PID(), "reason", visible(reason))
	})
	p.mu.Lock()
	p.warning = "a child was replaced: " + visible(reason)
	if c.line.served == 0 && p.failing.reason == "" {
		told = p.failing.failed(reason, time.Now())
	}
	p.mu.Unlock()
	told.tell(p.log)
}

// awaitGone waits until the tree is gone, or until the service gives it up.
func awaitGone(proc *process.Child, given <-chan struct{}) {
	select {
	case <-proc.Gone():
	case <-given:
	}
}
