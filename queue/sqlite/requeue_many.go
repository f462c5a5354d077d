package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// RequeueMany is Requeue for a page of the jobs that a filter selects, in one
// commit, each with its own answer: a job that is refused stops no other. The error
// is about all of them; then none was requeued, unless it is queue.ErrUnknown. How
// to ask for the page after, see queue.RequeueMany.
//
// The page is read before the write lock is taken, since a filter can have to look
// at many jobs. A job that no longer fits the filter by then is left out.
func (q *Queue) RequeueMany(ctx context.Context, r queue.RequeueMany) (queue.RequeuedMany, error) {
	if err := r.Check(); err != nil {
		return queue.RequeuedMany{}, fmt.Errorf("requeue: %w", err)
	}
	r.Filter.Limit = cmp.Or(r.Filter.Limit, queue.DefaultPage)
	if r.Filter.States = r.States(); len(r.Filter.States) == 0 {
		return queue.RequeuedMany{}, nil
	}
	for {
		answer, err := q.requeuePage(ctx, &r)
		if err != nil || len(answer.Jobs) > 0 || !answer.More {
			return answer, err
		}
		// Others moved the whole page: what fits now are other jobs.
	}
}

func (q *Queue) requeuePage(ctx context.Context, r *queue.RequeueMany) (queue.RequeuedMany, error) {
	var answer queue.RequeuedMany // the writer's where its caller has left
	var ids []int64
	more := false
	if err := q.read(ctx, "requeue", func(s *snapshot) (err error) {
		f := r.Filter
		f.Limit++ // to see whether there is more
		if ids, err = s.selection(&f); err != nil {
			return err
		}
		if more = len(ids) == f.Limit; more {
			ids = ids[:r.Filter.Limit]
		}
		if r.DryRun {
			answer, err = requeueEach(&s.view, ids, r, s.wouldRequeue)
		}
		return err
	}); err != nil {
		return queue.RequeuedMany{}, err
	}
	if len(ids) > 0 && !r.DryRun {
		if err := q.write(ctx, "requeue", &request{weight: len(ids), run: func(t *transaction) (err error) {
			answer, err = requeueEach(&t.view, ids, r, t.requeue)
			return err
		}}); err != nil {
			return queue.RequeuedMany{}, err
		}
	}
	answer.More = more
	return answer, nil
}

// wouldRequeue tells what requeue would, and changes nothing.
func (v *view) wouldRequeue(j *jobRow, r queue.Requeue) error {
	_, err := v.mayRequeue(j, r)
	return err
}

// requeueEach lets act requeue the jobs that still fit the filter.
func requeueEach(v *view, ids []int64, r *queue.RequeueMany, act func(*jobRow, queue.Requeue) error) (answer queue.RequeuedMany, err error) {
	each := r.Requeue
	for _, id := range ids {
		j, err := v.job(queue.Ref{ID: id})
		switch {
		case errors.Is(err, queue.ErrNotFound): // pruned meanwhile
			continue
		case err != nil:
			return queue.RequeuedMany{}, err
		case !v.stillFits(j, &r.Filter):
			continue
		}
		kind, err := v.kindName(j.kind)
		if err != nil {
			return queue.RequeuedMany{}, err
		}
		refused := act(j, each)
		switch {
		case refused == nil:
			each.Delay += r.Spacing
		case !errors.Is(refused, queue.ErrConflict):
			return queue.RequeuedMany{}, refused
		}
		job, err := v.describe(j, kind)
		if err != nil {
			return queue.RequeuedMany{}, err
		}
		answer.Jobs = append(answer.Jobs, queue.RequeuedJob{Job: job, Err: refused})
	}
	return answer, nil
}

// stillFits repeats of a filter what can change of a job. The states are some that
// no job leaves by itself.
func (v *view) stillFits(j *jobRow, f *queue.Filter) bool {
	return slices.Contains(f.States, states.word(j.state)) &&
		(f.OlderThan == 0 || !time.UnixMilli(j.updated).After(v.now.Add(-f.OlderThan)))
}
