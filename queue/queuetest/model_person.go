package queuetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/b1213022/bailiff/queue"
)

// change makes one move of one job by a person's word.
func (q *modelQueue) change(ctx context.Context, ref queue.Ref, f func(*moment, *record) error) (job queue.Job, err error) {
	if err := ref.Check(); err != nil {
		return job, err
	}
	err = q.write(ctx, func(m *moment) error {
		r, err := m.find(ref)
		if err != nil {
			return err
		}
		if err := f(m, r); err != nil {
			return err
		}
		job = m.whole(r)
		return nil
	})
	return job, err
}

// Cancel ends a job, or marks a leased one.
func (q *modelQueue) Cancel(ctx context.Context, ref queue.Ref) (queue.Job, error) {
	return q.change(ctx, ref, func(m *moment, r *record) error {
		switch {
		case r.job.State != queue.StateLeased:
			return m.move(r, queue.EventCancel, queue.StateCancelled, queue.Entry{})
		case r.job.CancelRequested:
			return nil
		}
		r.job.CancelRequested = true
		return m.move(r, queue.EventCancel, queue.StateLeased, queue.Entry{})
	})
}

// CloseJob records what a person found out.
func (q *modelQueue) CloseJob(ctx context.Context, ref queue.Ref, f queue.Finding) (queue.Job, error) {
	if err := f.Check(); err != nil {
		return queue.Job{}, err
	}
	return q.change(ctx, ref, func(m *moment, r *record) error {
		if err := m.move(r, queue.EventClose, f.As, queue.Entry{Detail: f.Note}); err != nil {
			return err
		}
		if len(f.Result) > 0 {
			r.job.Result = bytes.Clone(f.Result)
		}
		return nil
	})
}

// Requeue sends a finished job to wait again.
func (q *modelQueue) Requeue(ctx context.Context, ref queue.Ref, how queue.Requeue) (queue.Job, error) {
	if err := how.Check(); err != nil {
		return queue.Job{}, err
	}
	return q.change(ctx, ref, func(m *moment, r *record) error { return m.requeue(r, how) })
}

func (m *moment) requeue(r *record, how queue.Requeue) error {
	if err := m.mayRequeue(r, how); err != nil {
		return err
	}
	r.job.Attempt, r.job.CancelRequested, r.job.ExternalEffectsPossible, r.job.NeedsReview = 0, false, false, false
	m.setDue(r, how.Delay)
	to, about := queue.StateReady, queue.Entry{}
	if how.Delay > 0 {
		to = queue.StateScheduled
	}
	if how.Reviewed {
		about.Detail = "reviewed"
	}
	return m.move(r, queue.EventRequeue, to, about)
}

func (m *moment) mayRequeue(r *record, how queue.Requeue) error {
	if _, err := queue.Allowed(r.job.State, queue.EventRequeue); err != nil {
		return err
	}
	return r.reviewed(how.Reviewed)
}

// reviewed answers nil if running the job once more can do nothing twice.
func (r *record) reviewed(word bool) error {
	if r.job.NeedsReview && !word {
		return fmt.Errorf("job %d: an earlier run may have done something, it runs again only as reviewed: %w", r.job.ID, queue.ErrConflict)
	}
	return nil
}

// RequeueMany requeues a page of what a filter selects.
func (q *modelQueue) RequeueMany(ctx context.Context, many queue.RequeueMany) (answer queue.RequeuedMany, err error) {
	if err := many.Check(); err != nil {
		return answer, err
	}
	err = q.write(ctx, func(m *moment) error {
		f := many.Filter
		f.States = many.States()
		if len(f.States) == 0 {
			return nil
		}
		var page []*record
		page, answer.More = m.selected(f)
		how := many.Requeue
		for _, r := range page {
			err := m.mayRequeue(r, how)
			if err == nil && !many.DryRun {
				err = m.requeue(r, how)
			}
			if err == nil {
				how.Delay += many.Spacing
			}
			answer.Jobs = append(answer.Jobs, queue.RequeuedJob{Job: m.brief(r), Err: err})
		}
		return nil
	})
	return answer, err
}

// Rerun makes a new job like a finished one.
func (q *modelQueue) Rerun(ctx context.Context, ref queue.Ref, again queue.Rerun) (e queue.Enqueued, err error) {
	if err := ref.Check(); err != nil {
		return e, err
	}
	if err := again.Check(); err != nil {
		return e, err
	}
	err = q.write(ctx, func(m *moment) error {
		r, err := m.find(ref)
		if err != nil {
			return err
		}
		if r.job.Key == again.Key {
			return fmt.Errorf("job %d: that is its own key: %w", r.job.ID, queue.ErrConflict)
		}
		n := queue.NewJob{
			Kind: r.job.Kind, Key: again.Key, Payload: r.job.Payload, Meta: r.job.Meta,
			Priority: r.job.Priority, MaxAttempts: r.job.NamedAttempts,
		}
		var taken bool
		if e, taken, err = m.taken(n, r.digest); taken {
			return err
		}
		if err := queue.CanRerun(r.job.State); err != nil {
			return err
		}
		if err := r.reviewed(again.Reviewed); err != nil {
			return err
		}
		e = queue.Enqueued{Job: m.whole(m.create(n, r.digest, fmt.Sprintf("like #%d", r.job.ID))), Created: true}
		m.record(r, queue.Entry{
			Event: queue.EventNote, From: r.job.State, To: r.job.State, Detail: fmt.Sprintf("run again as #%d", e.Job.ID),
		})
		return nil
	})
	return e, err
}

// Pause keeps everybody from claiming jobs of a kind, one without jobs too, or lets
// them again.
func (q *modelQueue) Pause(ctx context.Context, kind string, paused bool) error {
	if err := queue.ValidKind(kind); err != nil {
		return err
	}
	return q.write(ctx, func(m *moment) error {
		if _, known := m.kinds[kind]; !known && !paused {
			return fmt.Errorf("kind %s has had no job yet: %w", kind, queue.ErrNotFound)
		}
		m.kinds[kind] = paused
		return nil
	})
}

// Prune forgets finished jobs, but for what an enqueue of the same key has to know.
func (q *modelQueue) Prune(ctx context.Context, p queue.Pruning) (answer queue.Pruned, err error) {
	if err := p.Check(); err != nil {
		return answer, err
	}
	err = q.write(ctx, func(m *moment) error {
		var over []*record
		for _, r := range m.jobs {
			if m.outlived(r, p) {
				over = append(over, r)
			}
		}
		if p.DryRun {
			answer.Jobs = int64(len(over))
			return nil
		}
		slices.SortStableFunc(over, func(a, b *record) int { return a.job.FinishedAt.Compare(b.job.FinishedAt) })
		n := min(len(over), cmp.Or(p.Limit, queue.DefaultPrune))
		answer.Jobs, answer.More = int64(n), n < len(over)
		for _, r := range over[:n] {
			m.pruned[queue.Ref{Kind: r.job.Kind, Key: r.job.Key}] = r
		}
		m.jobs = slices.DeleteFunc(m.jobs, func(r *record) bool { return slices.Contains(over[:n], r) })
		return nil
	})
	return answer, err
}

// outlived reports whether a job is kept no longer.
func (m *moment) outlived(r *record, p queue.Pruning) bool {
	keep, ends := p.Keep.For(r.job.State)
	return ends && (p.Kind == "" || p.Kind == r.job.Kind) && !r.job.FinishedAt.After(m.now.Add(-keep))
}
