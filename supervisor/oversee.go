package supervisor

import (
	"sync/atomic"
	"time"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/process"
)

// overseer watches one run and holds the rules by which its child is stopped;
// they are the same for both protocols. A lost lease kills at once, whatever
// else is under way, and an abort does too. A cancelled job, the end of the
// drain time, the timeout and silence begin the ladder, of which the first
// reason stands. Its goroutine is the caller of next.
type overseer struct {
	handler *config.Handler
	control control
	ladder  *ladder
	heard   pulse
	lost    bool // the lease was lost before the run had ended

	// ask tells a lines child politely that it is to stop; nil for plain,
	// where SIGTERM is the first step.
	ask func(childproto.CancelReason)

	// What only a lines child is listened to for; nil for plain.
	inbox  <-chan inbound   // what it says
	failed <-chan struct{}  // writing to it has failed
	ending <-chan time.Time // it should have ended by now

	timeout, silence         <-chan time.Time
	stopTimeout, stopSilence func() bool
}

// event is what next has seen.
type event int

const (
	eventSeenTo  event = iota // nothing that the caller must know
	eventEnded                // the child has ended
	eventSaid                 // a lines child said something
	eventSilent               // it has closed its stdout
	eventFailed               // writing to it has failed
	eventOverdue              // it should have ended by now
)

// oversee begins the watching of a run whose time begins now. Call rest when
// it is over.
func oversee(child *process.Child, h *config.Handler, c control) *overseer {
	o := &overseer{handler: h, control: c, ladder: newLadder(child, h.Grace), heard: pulse{start: time.Now()}}
	o.timeout, o.stopTimeout = after(h.Timeout)
	o.silence, o.stopSilence = after(h.Liveness)
	return o
}

// rest ends the watching.
func (o *overseer) rest() {
	o.stopTimeout()
	o.stopSilence()
	o.ladder.leave()
}

// next waits until one thing happens and sees to it, or answers what it was.
// After eventEnded it must not be called again.
func (o *overseer) next() (event, inbound) {
	c := &o.control
	select {
	case <-o.ladder.child.Exited():
		// A lease lost at the same moment is lost all the same.
		o.lost = o.lost || fired(c.lost)
		return eventEnded, inbound{}
	case <-c.lost:
		o.lost, c.lost = true, nil
		o.ladder.kill()
	case <-c.abort:
		c.abort = nil
		o.ladder.abort(StopAbort)
	case <-c.cancelled:
		c.cancelled = nil
		o.stop(StopCancelled, childproto.CancelCancelled)
	case <-c.stop:
		if c.stop = nil; !fired(c.abort) {
			o.stop(StopShutdown, childproto.CancelShutdown)
		}
	case <-o.timeout:
		o.stop(StopTimeout, childproto.CancelTimeout)
	case <-o.silence:
		o.listen()
	case <-o.ladder.C:
		o.ladder.climb()
	case in, open := <-o.inbox:
		if open {
			return eventSaid, in
		}
		o.inbox = nil
		return eventSilent, inbound{}
	case <-o.failed:
		o.failed = nil
		return eventFailed, inbound{}
	case <-o.ending:
		o.ending = nil
		return eventOverdue, inbound{}
	}
	return eventSeenTo, inbound{}
}

// stop begins to stop the child, politely first where that is possible.
func (o *overseer) stop(reason Stop, word childproto.CancelReason) {
	var ask func()
	if o.ask != nil {
		ask = func() { o.ask(word) }
	}
	if o.ladder.begin(reason, ask) {
		o.control.stopping(reason)
	}
}

// listen looks whether the child has been silent for too long.
func (o *overseer) listen() {
	silent := o.heard.silence()
	if silent >= o.handler.Liveness {
		o.stop(StopLiveness, childproto.CancelTimeout)
		return
	}
	o.silence, o.stopSilence = after(o.handler.Liveness - silent)
}

// expectEnd gives a child that closed a pipe a moment to end by itself; then
// next answers eventOverdue, once.
func (o *overseer) expectEnd() { o.ending = time.After(endWait) }

// pulse knows when a child gave a sign of life last. Each write to it is one.
type pulse struct {
	start time.Time
	last  atomic.Int64 // nanoseconds since start
}

func (p *pulse) Write(b []byte) (int, error) {
	p.beat()
	return len(b), nil
}

func (p *pulse) beat() { p.last.Store(int64(time.Since(p.start))) }

func (p *pulse) silence() time.Duration { return time.Since(p.start) - time.Duration(p.last.Load()) }

// after is a timer of d; a d of 0 never fires.
func after(d time.Duration) (c <-chan time.Time, stop func() bool) {
	if d == 0 {
		return nil, func() bool { return true }
	}
	timer := time.NewTimer(d)
	return timer.C, timer.Stop
}

// fired reports whether c is closed.
func fired(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
