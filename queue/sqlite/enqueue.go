package sqlite

import (
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
	digest        []byte // of the payload in canonical form
	due           int64  // or atOnce
}

// atOnce is the due time of a new job that names none.
const atOnce = -1

// accept checks a job. What is costly about it happens here, in the caller's
// goroutine.
func accept(n queue.NewJob) (*accepted, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	a := &accepted{NewJob: n, payload: string(n.Payload), meta: string(n.Meta), due: atOnce}
	a.Payload, a.Meta = nil, nil
	sum, err := queue.Digest([]byte(a.payload))
	if err != nil {
		return nil, err
	}
	a.digest = digest(sum)
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
	var answer queue.Enqueued // e is still the writer's where its caller has left
	if err == nil {
		answer = e
	}
	if answer, err = q.told(ctx, a, answer, err); err != nil {
		return queue.Enqueued{}, err
	}
	return answer, nil
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
		other.place = q.difference(ctx, other.id, a.payload)
		return queue.Enqueued{}, fmt.Errorf("enqueue: %w", other)
	case err != nil || e.Pruned:
	case e.Created:
		e.Job.Payload = jsontext.Value(a.payload)
		if a.meta != "" {
			e.Job.Meta = jsontext.Value(a.meta)
		}
	default:
		if e, err = q.replayed(ctx, a, e.Job.ID); err != nil {
			err = fmt.Errorf("enqueue: nothing was changed: %w", err)
		}
	}
	return e, err
}

func (t *transaction) enqueue(a *accepted) (queue.Enqueued, error) {
	kind, err := t.kind(a.Kind)
	if err != nil {
		return queue.Enqueued{}, err
	}
	if e, taken, err := t.taken(a, kind); err != nil || taken {
		return e, err
	}
	j := &jobRow{kind: kind, key: a.Key, priority: int64(a.Priority), due: a.due, namedLimit: int64(a.MaxAttempts)}
	if err := t.create(j, "", `INSERT INTO job_data (job_id, payload, digest, meta) VALUES (?, ?, ?, ?)`,
		a.payload, a.digest, orNull(a.meta)); err != nil {
		return queue.Enqueued{}, err
	}
	job, err := t.describe(j, a.Kind)
	return queue.Enqueued{Job: job, Created: true}, err
}

// create stores a job that is new: its row, which may be due atOnce, its history with the
// detail, and by insertData, whose first argument is the id, what its handler reads.
func (t *transaction) create(j *jobRow, detail, insertData string, args ...any) (err error) {
	j.state, j.fence, j.created, j.updated = ready, t.q.fenceFloor, t.ms(), t.ms()
	switch {
	case j.due == atOnce:
		j.due = t.ms()
	case j.due > t.ms():
		j.state = scheduled
	}
	if err := allowed(0, queue.EventEnqueue, j.state); err != nil {
		return err
	}
	if j.id, err = t.insert(`INSERT INTO jobs (kind_id, key, state, priority, due_at, named_limit, fence, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		j.kind, j.key, j.state, j.priority, j.due, j.namedLimit, j.fence, j.created, j.updated); err != nil {
		return err
	}
	if _, err := t.exec(insertData, append([]any{j.id}, args...)...); err != nil {
		return err
	}
	t.counts[place{j.kind, j.state}]++
	return t.record(j, queue.EventEnqueue, 0, entry{detail: detail})
}
