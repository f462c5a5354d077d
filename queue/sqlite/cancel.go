package sqlite

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// Cancel ends a job that waits, is dead or is quarantined. A leased one is
// marked instead: its holder hears of it with the next renewal, and whatever the
// run ends as, the job does not wait again. The job is answered as it then stands.
func (q *Queue) Cancel(ctx context.Context, ref queue.Ref) (queue.Job, error) {
	return q.change(ctx, "cancel", ref, func(t *transaction, j *jobRow) error {
		to, detail := cancelled, ""
		if j.state == leased {
			if j.marked {
				return nil
			}
			j.marked = true
			to, detail = leased, "asked for; its holder is told"
		}
		return t.move(j, queue.EventCancel, to, j.fence, entry{detail: detail})
	})
}

// change makes one move of one job by a person's word and answers the job as it
// then stands.
func (q *Queue) change(ctx context.Context, act string, ref queue.Ref, f func(*transaction, *jobRow) error) (queue.Job, error) {
	if err := ref.Check(); err != nil {
		return queue.Job{}, fmt.Errorf("%s: %w", act, err)
	}
	var job queue.Job
	err := q.write(ctx, act, &request{run: func(t *transaction) error {
		j, err := t.job(ref)
		if err != nil {
			return err
		}
		if err := f(t, j); err != nil {
			return err
		}
		job, err = t.whole(j)
		return err
	}})
	if err != nil {
		return queue.Job{}, err
	}
	return job, nil
}
