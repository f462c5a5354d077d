package queuetest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// Enqueue stores a job.
func (q *modelQueue) Enqueue(ctx context.Context, n queue.NewJob) (e queue.Enqueued, err error) {
	digest, err := accept(&n)
	if err != nil {
		return e, err
	}
	err = q.write(ctx, func(m *moment) error {
		e, err = m.enqueue(n, digest)
		return err
	})
	return e, err
}

// EnqueueMany stores jobs, each with its own answer.
func (q *modelQueue) EnqueueMany(ctx context.Context, jobs []queue.NewJob) ([]queue.EnqueueResult, error) {
	if len(jobs) > queue.MaxBatch {
		return nil, fmt.Errorf("%d jobs, at most %d: %w", len(jobs), queue.MaxBatch, queue.ErrInvalid)
	}
	results := make([]queue.EnqueueResult, len(jobs))
	err := q.write(ctx, func(m *moment) error {
		for i, n := range jobs {
			r := &results[i]
			var digest [32]byte
			if digest, r.Err = accept(&n); r.Err == nil {
				r.Enqueued, r.Err = m.enqueue(n, digest)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// accept checks a job and takes it from its caller.
func accept(n *queue.NewJob) (digest [32]byte, err error) {
	if err := n.Check(); err != nil {
		return digest, err
	}
	n.Payload, n.Meta = bytes.Clone(n.Payload), bytes.Clone(n.Meta)
	if !n.AvailableAt.IsZero() {
		// Up to the next millisecond: never before its time.
		n.AvailableAt = n.AvailableAt.Add(time.Millisecond - 1).Truncate(time.Millisecond).UTC()
	}
	return queue.Digest(n.Payload)
}

func (m *moment) enqueue(n queue.NewJob, digest [32]byte) (queue.Enqueued, error) {
	if e, taken, err := m.taken(n, digest); taken {
		return e, err
	}
	return queue.Enqueued{Job: m.whole(m.create(n, digest, "")), Created: true}, nil
}

// taken answers for a kind and key that had a job before.
func (m *moment) taken(n queue.NewJob, digest [32]byte) (e queue.Enqueued, is bool, err error) {
	ref := queue.Ref{Kind: n.Kind, Key: n.Key}
	r, _ := m.find(ref)
	if r == nil {
		if r = m.pruned[ref]; r == nil {
			return e, false, nil
		}
		e.Pruned = true
	}
	if err := r.same(&n, digest); err != nil {
		return queue.Enqueued{}, true, err
	}
	if e.Job = m.whole(r); e.Pruned {
		e.Job = queue.Job{
			ID: r.job.ID, Kind: n.Kind, Key: n.Key, State: r.job.State, FinishedAt: r.job.FinishedAt,
			NamedAttempts: r.job.NamedAttempts, IdempotencyKey: r.job.IdempotencyKey,
		}
	}
	return e, true, nil
}

// create stores a job that is new.
func (m *moment) create(n queue.NewJob, digest [32]byte, detail string) *record {
	r := &record{digest: digest, job: queue.Job{
		ID: m.nextID, Kind: n.Kind, Key: n.Key, Payload: n.Payload, Meta: n.Meta,
		Priority: n.Priority, NamedAttempts: n.MaxAttempts, MaxAttempts: n.MaxAttempts, Fence: m.floor,
		AvailableAt: n.AvailableAt, CreatedAt: m.now,
		IdempotencyKey: queue.IdempotencyKey(m.uid, n.Kind, n.Key),
	}}
	if n.AvailableAt.IsZero() {
		r.job.AvailableAt = m.now
	}
	to := queue.StateReady
	if r.job.AvailableAt.After(m.now) {
		to = queue.StateScheduled
	}
	if err := m.move(r, queue.EventEnqueue, to, queue.Entry{Detail: detail}); err != nil {
		panic(err) // the rules contradict themselves
	}
	if _, known := m.kinds[n.Kind]; !known {
		m.kinds[n.Kind] = false
	}
	m.jobs = append(m.jobs, r)
	m.nextID++
	return r
}

// same answers nil if the job is the one that is enqueued again.
func (r *record) same(n *queue.NewJob, digest [32]byte) error {
	switch {
	case r.digest != digest:
		return fmt.Errorf("job %d has another payload: %w", r.job.ID, queue.ErrConflict)
	case r.job.NamedAttempts != n.MaxAttempts:
		return fmt.Errorf("job %d has the attempt limit %d, not %d: %w", r.job.ID, r.job.NamedAttempts, n.MaxAttempts, queue.ErrConflict)
	}
	return nil
}
