package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// request is one caller's write.
type request struct {
	// run does the work inside the writer's transaction. It answers refusals
	// before it writes anything, and may be called again after a rollback, so it
	// sets its results and never adds to them.
	run func(*transaction) error
	// essential: what a running job records. It is written from the reserve.
	essential bool
	// first: a renewal, served before what came earlier.
	first bool
	// weight is how many jobs it is about and bytes how much of theirs it stores,
	// for the size of a commit; a weight of 0 counts as 1.
	weight, bytes int
	// orphan, if set, makes the request that tidies up when the work was
	// committed but its caller had stopped waiting for it.
	orphan func() *request
	// keep is set in a request that tidies up and answers nobody: whether it is
	// still of use, to be tried again after an error.
	keep func() bool

	ctx      context.Context
	deadline time.Time // when the caller has waited long enough for a database that others hold
	stage    atomic.Int32
	answer   chan error // of capacity 1
	err      error      // of the last run
	solo     bool       // part of a commit that failed: it was started, and runs again on its own
}

// The stages of a request.
const (
	waiting  int32 = iota // in the queue
	gone                  // its caller left before it was started: it never runs
	started               // it runs to its end, with or without its caller
	left                  // its caller left after it was started
	answered              // what became of it is known
)

// start takes the request for a transaction; false if its caller has gone.
func (r *request) start() bool {
	return r.ctx.Err() == nil && r.stage.CompareAndSwap(waiting, started)
}

// begin is start for a request that may be solo, which has its start behind it.
func (r *request) begin() bool { return r.solo || r.start() }

// reply gives the caller its answer, and says what is to be done when nobody
// is there to take it.
func (r *request) reply(err error) (tidy *request) {
	if r.stage.Swap(answered) == left {
		if err == nil && r.orphan != nil {
			return r.orphan()
		}
		return nil
	}
	r.answer <- err
	return nil
}

// wait is the caller's side. The end of its context ends the waiting and
// nothing else.
func (r *request) wait() error {
	select {
	case err := <-r.answer:
		return err
	case <-r.ctx.Done():
	}
	cause := context.Cause(r.ctx)
	switch {
	case r.stage.CompareAndSwap(waiting, gone):
		return fmt.Errorf("gave up waiting, nothing was changed: %w", cause)
	case r.stage.CompareAndSwap(started, left):
		return fmt.Errorf("%w: gave up waiting: %w", queue.ErrUnknown, cause)
	default:
		return <-r.answer
	}
}
