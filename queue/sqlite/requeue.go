package sqlite

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// Requeue sends a dead, quarantined or cancelled job to wait again, at once or
// after a delay, with all its attempts before it. While nobody knows whether an
// effect of it happened it wraps queue.ErrConflict and names the effect; so it
// does without the word reviewed where something may have happened since the job
// was last queued. The job is answered as it then stands.
func (q *Queue) Requeue(ctx context.Context, ref queue.Ref, r queue.Requeue) (queue.Job, error) {
	if err := r.Check(); err != nil {
		return queue.Job{}, fmt.Errorf("requeue: %w", err)
	}
	return q.change(ctx, "requeue", ref, func(t *transaction, j *jobRow) error { return t.requeue(j, r) })
}

// requeue changes nothing where it is refused, which wraps queue.ErrConflict.
func (t *transaction) requeue(j *jobRow, r queue.Requeue) error {
	to, err := t.mayRequeue(j, r)
	if err != nil {
		return err
	}
	j.attempt, j.marked, j.effectsPossible, j.needsReview = 0, false, false, false
	if err := t.setDue(j, r.Delay); err != nil {
		return err
	}
	detail := ""
	if r.Reviewed {
		detail = "reviewed"
	}
	return t.move(j, queue.EventRequeue, to, j.fence, entry{detail: detail})
}

// mayRequeue says where r sends a job, or why it does not.
func (v *view) mayRequeue(j *jobRow, r queue.Requeue) (to code, err error) {
	to = ready
	if r.Delay > 0 {
		to = scheduled
	}
	if err = allowed(j.state, queue.EventRequeue, to); err == nil {
		err = v.mayRunAgain(j, r.Reviewed)
	}
	if err != nil {
		return 0, fmt.Errorf("job %d: %w", j.id, err)
	}
	return to, nil
}

// mayRunAgain answers nil if doing the job's work once more can do nothing twice,
// as far as the file and a person's word tell.
func (v *view) mayRunAgain(j *jobRow, reviewed bool) error {
	open, _, err := v.openEffects(j.id)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return fmt.Errorf("begun and not known whether it happened: %q: %w", open, queue.ErrConflict)
	}
	if j.needsReview && !reviewed {
		return fmt.Errorf("an earlier run may have done something: it runs again only as reviewed: %w", queue.ErrConflict)
	}
	return nil
}
