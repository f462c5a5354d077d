package supervisor

import (
	"time"

	"github.com/b1213022/bailiff/supervisor/process"
)

// ladder stops a child: it is asked, then told by SIGTERM, then its whole tree
// is killed. lines: cancel (or end of file), SIGTERM half of the grace later,
// SIGKILL at its end. plain: SIGTERM, SIGKILL at the end of the grace. Without
// a grace the tree is killed at once.
//
// It has no goroutine of its own: who watches the child calls climb each time C
// fires, and leave in the end. Not safe for use by several goroutines.
type ladder struct {
	C <-chan time.Time // time for the next step; never fires before begin

	child  *process.Child
	grace  time.Duration
	timer  *time.Timer
	steps  []step
	reason Stop
	asked  bool // it was told in a way that it could act on: asked, or sent SIGTERM
	signed bool // SIGTERM or worse was sent
}

// step is done after its wait.
type step struct {
	wait time.Duration
	do   func()
}

func newLadder(child *process.Child, grace time.Duration) *ladder {
	timer := time.NewTimer(0)
	timer.Stop()
	return &ladder{C: timer.C, child: child, grace: grace, timer: timer}
}

// begin starts to stop the child for reason; the first reason stands. ask is
// the polite first step, nil if there is none. It answers whether the child was
// told: one that had already ended was not.
func (l *ladder) begin(reason Stop, ask func()) (told bool) {
	if l.reason != "" || ended(l.child) {
		return false
	}
	switch {
	case l.grace == 0:
		if !l.kill() {
			return false
		}
	case ask != nil:
		ask()
		l.asked = true
		l.steps = []step{{l.grace / 2, l.terminate}, {l.grace - l.grace/2, func() { l.kill() }}}
	default:
		if !l.child.Terminate() {
			return false
		}
		l.asked, l.signed = true, true
		l.steps = []step{{l.grace, func() { l.kill() }}}
	}
	l.reason = reason
	l.arm()
	return true
}

// kill is the last step, whichever come before it. It answers whether the child
// was told by it: one that had already ended, or was killed before, was not.
func (l *ladder) kill() (told bool) {
	l.steps, l.signed = nil, true
	return l.child.Kill()
}

// abort kills at once; reason stands if there was none before and the child was
// told by it.
func (l *ladder) abort(reason Stop) {
	if told := l.kill(); told && l.reason == "" {
		l.reason = reason
	}
}

// stop is why the child was told to stop, given how it ended; empty if it was
// not. SIGKILL cannot be acted on: a child that was sent nothing else and yet
// exited with a status was on its way out already.
func (l *ladder) stop(exit process.Exit) Stop {
	if !l.asked && exit.Signal == 0 {
		return ""
	}
	return l.reason
}

// climb takes the next step.
func (l *ladder) climb() {
	if len(l.steps) == 0 {
		return
	}
	next := l.steps[0]
	l.steps = l.steps[1:]
	next.do()
	l.arm()
}

func (l *ladder) terminate() {
	l.signed = true
	l.child.Terminate()
}

func (l *ladder) arm() {
	if len(l.steps) > 0 {
		l.timer.Reset(l.steps[0].wait)
	}
}

// leave abandons the stopping: the child has ended, or it answered in time and
// may stay.
func (l *ladder) leave() {
	l.timer.Stop()
	l.steps = nil
}

// ended reports whether the child's leader has ended.
func ended(child *process.Child) bool {
	select {
	case <-child.Exited():
		return true
	default:
		return false
	}
}
