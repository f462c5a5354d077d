package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// accepted is a job that was checked and can be stored. Nothing in it is shared
// with the caller, who may leave before it is.
type accepted struct {
	queue.NewJob  // without payload and meta
	payload, meta string
	digest        [32]byte // of the payload in canonical form
	due           int64    // 0: at once
}

// accept checks a job. What is costly about it happens here, in the caller's
// goroutine.
func accept(n queue.NewJob) (*accepted, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	a := &accepted{NewJob: n, payload: string(n.Payload), meta: string(n.Meta)}
	a.Payload, a.Meta = nil, nil
	var err error
	if a.digest, err = queue.Digest([]byte(a.payload)); err != nil {
		return nil, err
	}
	if !n.AvailableAt.IsZero() {
		// Up to the next millisecond: never before its time.
		a.due = n.AvailableAt.Add(time.Millisecond - 1).UnixMilli()
	}
	return a, nil
}

func (a *accepted) size() int { return len(a.payload) + len(a.meta) }

// Enqueue stores a job. The same kind and key again answers the job as it
// stands if payload and named attempt limit are the same, and changes nothing;
// else it wraps queue.ErrConflict and says what differs.
func (q *Queue) Enqueue(ctx context.Context, n queue.NewJob) (queue.Enqueued, error) {
	a, err := accept(n)
	if err != nil {
		return queue.Enqueued{}, fmt.Errorf("enqueue: %w", err)
	}
	var e queue.Enqueued
	err = q.write(ctx, "enqueue", &request{bytes: a.size(), run: func(t *transaction) (err error) {
		e, err = t.enqueue(a)
		return err
	}})
	if e, err = q.told(ctx, a, e, err); err != nil {
		return queue.Enqueued{}, err
	}
	return e, nil
}

// EnqueueMany stores up to queue.MaxBatch jobs, each with its own answer at its own
// place: a job that is refused stops no other. Together they are one commit, or a
// few where they are large. The error is about all of them; then none was stored,
// unless it is queue.ErrUnknown. Where only a later commit failed, its jobs and
// those after them have its error as their answer.
func (q *Queue) EnqueueMany(ctx context.Context, jobs []queue.NewJob) ([]queue.EnqueueResult, error) {
	if len(jobs) > queue.MaxBatch {
		return nil, fmt.Errorf("enqueue: %d jobs, at most %d at a time: %w", len(jobs), queue.MaxBatch, queue.ErrInvalid)
	}
	results := make([]queue.EnqueueResult, len(jobs))
	list := make([]*accepted, len(jobs))
	for i, n := range jobs {
		if list[i], results[i].Err = accept(n); results[i].Err != nil {
			results[i].Err = fmt.Errorf("enqueue: %w", results[i].Err)
		}
	}
	for from := 0; from < len(list); {
		n, size := portion(list[from:])
		to := from + n
		err := q.enqueueTogether(ctx, list[from:to], results[from:to], size)
		if err != nil && from == 0 {
			return nil, err
		}
		if err != nil && !errors.Is(err, queue.ErrUnknown) {
			to = len(list) // the same would come of the others
		}
		for i := from; i < to; i++ {
			a, r := list[i], &results[i]
			switch {
			case a == nil:
			case err != nil:
				r.Err = err
			default:
				r.Enqueued, r.Err = q.told(ctx, a, r.Enqueued, r.Err)
			}
		}
		from = to
	}
	return results, nil
}

// portion is how many of the jobs one commit stores, and their size.
func portion(list []*accepted) (n, size int) {
	for ; n < len(list); n++ {
		if a := list[n]; a != nil {
			if size > 0 && size+a.size() > batchBytes {
				break
			}
			size += a.size()
		}
	}
	return n, size
}

// enqueueTogether stores jobs in one commit; those that are nil were refused.
func (q *Queue) enqueueTogether(ctx context.Context, list []*accepted, results []queue.EnqueueResult, size int) error {
	if size == 0 { // the least payload is not empty
		return nil
	}
	answers := make([]queue.EnqueueResult, len(list))
	err := q.write(ctx, "enqueue", &request{weight: len(list), bytes: size, run: func(t *transaction) error {
		for i, a := range list {
			if a == nil {
				continue
			}
			e, err := t.enqueue(a)
			if fromSQL(err) {
				return err
			}
			if err != nil {
				err = fmt.Errorf("enqueue: %w", err)
			}
			answers[i] = queue.EnqueueResult{Enqueued: e, Err: err}
		}
		return nil
	}})
	for i, a := range list {
		if a != nil && err == nil {
			results[i] = answers[i]
		}
	}
	return err
}

// told completes the answer to an enqueue with what may be of any size, which
// nobody shall wait for under the write lock.
func (q *Queue) told(ctx context.Context, a *accepted, e queue.Enqueued, err error) (queue.Enqueued, error) {
	var other *otherPayload
	switch {
	case errors.As(err, &other):
		return queue.Enqueued{}, q.different(ctx, a, other)
	case err != nil || e.Pruned:
	case e.Created:
		e.Job.Payload = jsontext.Value(a.payload)
		if a.meta != "" {
			e.Job.Meta = jsontext.Value(a.meta)
		}
	default:
		e.Job, err = q.Get(ctx, queue.Ref{ID: e.Job.ID})
		if err != nil {
			err = fmt.Errorf("enqueue: nothing was changed: %w", err)
		}
	}
	return e, err
}

// different says where the payloads of a conflict differ, if that can be read.
func (q *Queue) different(ctx context.Context, a *accepted, other *otherPayload) error {
	_ = q.read(ctx, "enqueue", func(s *snapshot) error {
		_, err := s.one(`SELECT payload FROM job_data WHERE job_id = ?`, []any{other.id}, func(r row) error {
			other.place = queue.Difference([]byte(r.text(0)), []byte(a.payload))
			return nil
		})
		return err
	})
	return fmt.Errorf("enqueue: %w", other)
}

func (t *transaction) enqueue(a *accepted) (queue.Enqueued, error) {
	kind, err := t.kind(a.Kind)
	if err != nil {
		return queue.Enqueued{}, err
	}
	j := &jobRow{}
	found, err := t.one(`SELECT `+jobColumns+`, d.digest FROM jobs j JOIN job_data d ON d.job_id = j.id
		WHERE j.kind_id = ? AND j.key = ?`, []any{kind, a.Key}, func(r row) error {
		j.scan(r)
		return a.same(j, r.blob(jobColumnCount))
	})
	if err != nil || found {
		return queue.Enqueued{Job: queue.Job{ID: j.id}}, err
	}
	if e, found, err := t.remembered(a, kind); err != nil || found {
		return e, err
	}
	return t.create(a, kind)
}

// otherPayload is the conflict of a key that stands with another payload.
type otherPayload struct {
	name  string
	id    int64
	place string // where they differ; empty: not known
}

func (e *otherPayload) Error() string {
	if e.place == "" {
		return fmt.Sprintf("%s with another payload: %v", e.name, queue.ErrConflict)
	}
	return fmt.Sprintf("%s with another payload (differs at %s): %v", e.name, e.place, queue.ErrConflict)
}

func (e *otherPayload) Unwrap() error { return queue.ErrConflict }

// same answers nil if the stored job is the one that is enqueued again.
func (a *accepted) same(j *jobRow, digest []byte) error {
	name := fmt.Sprintf("%s/%s is #%d", a.Kind, a.Key, j.id)
	switch {
	case !bytes.Equal(digest, a.digest[:]):
		return &otherPayload{name: name, id: j.id}
	case j.namedLimit != int64(a.MaxAttempts):
		return fmt.Errorf("%s with %s, not %s: %w",
			name, attemptLimit(j.namedLimit), attemptLimit(int64(a.MaxAttempts)), queue.ErrConflict)
	}
	return nil
}

func attemptLimit(n int64) string {
	if n == 0 {
		return "no attempt limit named"
	}
	return fmt.Sprintf("an attempt limit of %d", n)
}

// remembered answers for a job that was pruned: its key is taken all the same.
func (t *transaction) remembered(a *accepted, kind int64) (e queue.Enqueued, found bool, err error) {
	found, err = t.one(`SELECT job_id, digest, named_limit, state, finished_at FROM remembered
		WHERE kind_id = ? AND key = ?`, []any{kind, a.Key}, func(r row) error {
		e = queue.Enqueued{Pruned: true, Job: queue.Job{
			ID: r.int(0), Kind: a.Kind, Key: a.Key,
			NamedAttempts: int(r.int(2)), State: states.word(code(r.int(3))), FinishedAt: atMS(r, 4),
			IdempotencyKey: queue.IdempotencyKey(t.q.uid, a.Kind, a.Key),
		}}
		return a.same(&jobRow{id: r.int(0), namedLimit: r.int(2)}, r.blob(1))
	})
	return e, found, err
}

// create stores a job that is new.
func (t *transaction) create(a *accepted, kind int64) (queue.Enqueued, error) {
	j := &jobRow{
		kind: kind, key: a.Key, state: ready, priority: int64(a.Priority), due: a.due,
		namedLimit: int64(a.MaxAttempts), fence: t.q.fenceFloor, created: t.ms(), updated: t.ms(),
	}
	switch {
	case a.due == 0:
		j.due = t.ms()
	case a.due > t.ms():
		j.state = scheduled
	}
	if err := allowed(0, queue.EventEnqueue, j.state); err != nil {
		return queue.Enqueued{}, err
	}
	var err error
	if j.id, err = t.insert(`INSERT INTO jobs (kind_id, key, state, priority, due_at, named_limit, fence, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		j.kind, j.key, j.state, j.priority, j.due, j.namedLimit, j.fence, j.created, j.updated); err != nil {
		return queue.Enqueued{}, err
	}
	if _, err := t.exec(`INSERT INTO job_data (job_id, payload, digest, meta) VALUES (?, ?, ?, ?)`,
		j.id, a.payload, a.digest[:], orNull(a.meta)); err != nil {
		return queue.Enqueued{}, err
	}
	t.counts[place{kind, j.state}]++
	if err := t.record(j, queue.EventEnqueue, 0, entry{}); err != nil {
		return queue.Enqueued{}, err
	}
	job, err := t.describe(j, a.Kind)
	return queue.Enqueued{Job: job, Created: true}, err
}
