package childproto

import (
	"fmt"
	"time"
)

// EndError is an error by which a handler says what its run was; make one with
// Retry, Dead, Uncertain or Snooze. Wrapped in another error it still says so,
// and the reason is then the text of the whole.
type EndError struct {
	Is     End // never EndDone
	Reason string
	After  *time.Duration // retry, snooze: the delay asked for, 0 to MaxAfter; nil: none
}

// Error is the reason.
func (e *EndError) Error() string {
	if e.Is == EndSnooze && e.After != nil {
		return fmt.Sprintf("snooze for %s", *e.After)
	}
	return e.Reason
}

// Status is the exit status by which a plain handler says the same. A snooze
// has none; it is told as a retry to whoever looks at nothing else.
func (e *EndError) Status() int {
	switch e.Is {
	case EndDead:
		return StatusDead
	case EndUncertain:
		return StatusUncertain
	}
	return StatusRetry
}

// Retry says that the run failed and a later one may succeed. Without a delay
// the next try waits as the handler's configuration says; of several delays the
// first counts. Only say so if nothing is half done that a second run would do
// twice.
func Retry(reason string, after ...time.Duration) error {
	e := &EndError{Is: EndRetry, Reason: reason}
	if len(after) > 0 {
		e.After = bounded(after[0])
	}
	return e
}

// Dead says that the run failed and that every other would.
func Dead(reason string) error { return &EndError{Is: EndDead, Reason: reason} }

// Uncertain says that something may or may not have happened.
func Uncertain(reason string) error { return &EndError{Is: EndUncertain, Reason: reason} }

// Snooze says that nothing was done and gives the job back for a while. It uses
// up no attempt.
func Snooze(after time.Duration) error { return &EndError{Is: EndSnooze, After: bounded(after)} }

// bounded is the nearest delay that the protocol has.
func bounded(d time.Duration) *time.Duration {
	d = min(max(d, 0), MaxAfter)
	return &d
}
