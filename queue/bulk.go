package queue

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// RequeueMany asks for the jobs that a filter selects to run again, a page of them
// in one call: Filter.After and Filter.Limit are as for List, and Limit is at most
// MaxBatch. Of Filter.States those count that can be requeued; without any, all that
// can. A job that cannot be requeued stops no other.
//
// The first job of the page that is requeued is due after Requeue.Delay, each
// further one Spacing later than the one before. To go on at the same rate, ask for
// the page after with Filter.After as the last id answered, and a Delay that is
// longer by Spacing for each job that was requeued.
type RequeueMany struct {
	Filter  Filter
	Requeue Requeue
	Spacing time.Duration // 0: all are due at once
	DryRun  bool          // tell what would happen and change nothing
}

// RequeuedMany answers a RequeueMany. Jobs are in the order of their ids, each as
// it then stands, or, in a dry run and where it was refused, as it stood; without
// payload, meta, result and effects. More says that a page after may have others.
type RequeuedMany struct {
	Jobs []RequeuedJob
	More bool
}

// RequeuedJob is one job of a RequeueMany. Err is ErrConflict with the reason
// where it was not requeued.
type RequeuedJob struct {
	Job Job
	Err error
}

// Check answers nil if jobs can be requeued by r.
func (r *RequeueMany) Check() error {
	if r.Filter.Stuck {
		return fmt.Errorf("stuck jobs cannot be requeued: they are not over: %w", ErrInvalid)
	}
	if err := cmp.Or(
		r.Filter.Check(),
		inRange("limit", r.Filter.Limit, 0, MaxBatch),
		r.Requeue.Check(),
	); err != nil {
		return err
	}
	steps := time.Duration(cmp.Or(r.Filter.Limit, DefaultPage)) - 1
	if most := MaxDelay - r.Requeue.Delay; r.Spacing < 0 || steps > 0 && r.Spacing > most/steps {
		return fmt.Errorf("spacing %v: from 0s, and the last job of the page must be due within %v: %w",
			r.Spacing, time.Duration(MaxDelay), ErrInvalid)
	}
	return nil
}

// States are those that r selects; none if it asks for nothing that can be requeued.
func (r *RequeueMany) States() []State {
	return slices.DeleteFunc(States(), func(s State) bool {
		_, err := Allowed(s, EventRequeue)
		return err != nil || len(r.Filter.States) > 0 && !slices.Contains(r.Filter.States, s)
	})
}
