package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// Rerun makes a new job like a done, dead or cancelled one, under a key of its own;
// the histories of both say so. The same again is a replay, as for Enqueue. It wraps
// queue.ErrConflict where the key is taken by another payload or limit, where the old
// job is not over, while an effect of it is open, and without the word reviewed where
// a run of it may have done something. Of a pruned job no payload is left, which
// wraps queue.ErrNotFound.
func (q *Queue) Rerun(ctx context.Context, ref queue.Ref, r queue.Rerun) (queue.Enqueued, error) {
	if err := cmp.Or(ref.Check(), r.Check()); err != nil {
		return queue.Enqueued{}, fmt.Errorf("rerun: %w", err)
	}
	var e queue.Enqueued
	var a *accepted
	err := q.write(ctx, "rerun", &request{run: func(t *transaction) (err error) {
		a, e, err = t.rerun(ref, &r)
		return err
	}})
	var other *otherPayload
	switch {
	case errors.As(err, &other):
		if old, err := q.Get(ctx, ref); err == nil {
			other.place = q.difference(ctx, other.id, string(old.Payload))
		}
		return queue.Enqueued{}, fmt.Errorf("rerun: %w", other)
	case err != nil:
		return queue.Enqueued{}, err
	case !e.Created && !e.Pruned:
		if e, err = q.replayed(ctx, a, e.Job.ID); err != nil {
			return queue.Enqueued{}, fmt.Errorf("rerun: nothing was changed: %w", err)
		}
	}
	return e, nil
}

// rerun answers also what an enqueue of the new job would have asked for, without
// its payload.
func (t *transaction) rerun(ref queue.Ref, r *queue.Rerun) (a *accepted, e queue.Enqueued, err error) {
	old, err := t.job(ref)
	if errors.As(err, new(*queue.PrunedError)) {
		err = fmt.Errorf("no payload is left: %w", err)
	}
	if err != nil {
		return nil, e, err
	}
	if old.key == r.Key {
		return nil, e, fmt.Errorf("job %d: that is its own key, the new job needs another: %w", old.id, queue.ErrConflict)
	}
	if a, err = t.like(old, r.Key); err != nil {
		return nil, e, err
	}
	if e, taken, err := t.taken(a, old.kind); err != nil || taken {
		return a, e, err
	}
	err = queue.CanRerun(states.word(old.state))
	if err == nil {
		err = t.mayRunAgain(old, r.Reviewed)
	}
	if err != nil {
		return nil, e, fmt.Errorf("job %d: %w", old.id, err)
	}
	e.Job, err = t.copyJob(old, r)
	e.Created = true
	return a, e, err
}

// like is what an enqueue of a job like an old one asks for, without its payload.
func (t *transaction) like(old *jobRow, key string) (*accepted, error) {
	kind, err := t.kindName(old.kind)
	if err != nil {
		return nil, err
	}
	a := &accepted{NewJob: queue.NewJob{Kind: kind, Key: key, MaxAttempts: int(old.namedLimit)}}
	_, err = t.one(`SELECT digest FROM job_data WHERE job_id = ?`, []any{old.id}, func(r row) error {
		a.digest = r.blob(0)
		return nil
	})
	return a, err
}

// copyJob makes the new job and lets each of the two know of the other.
func (t *transaction) copyJob(old *jobRow, r *queue.Rerun) (queue.Job, error) {
	detail := fmt.Sprintf("like #%d", old.id)
	if r.Reviewed {
		detail = joined(detail, "reviewed")
	}
	j := &jobRow{kind: old.kind, key: r.Key, due: atOnce, priority: old.priority, namedLimit: old.namedLimit}
	if err := t.create(j, detail, `INSERT INTO job_data (job_id, payload, digest, meta)
		SELECT ?1, payload, digest, meta FROM job_data WHERE job_id = ?2`, old.id); err != nil {
		return queue.Job{}, err
	}
	if err := t.record(old, queue.EventNote, old.state, entry{detail: fmt.Sprintf("run again as #%d", j.id)}); err != nil {
		return queue.Job{}, err
	}
	return t.whole(j)
}
