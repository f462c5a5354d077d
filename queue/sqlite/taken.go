package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// A kind and a key that stand in the file, or did until their job was pruned, are
// taken for ever. The same again is a replay: it answers the job and changes nothing.

// taken answers for a job whose kind and key are taken: with its id alone where it
// stands.
func (t *transaction) taken(a *accepted, kind int64) (e queue.Enqueued, taken bool, err error) {
	j := &jobRow{}
	taken, err = t.one(`SELECT `+jobColumns+`, d.digest FROM jobs j JOIN job_data d ON d.job_id = j.id
		WHERE j.kind_id = ? AND j.key = ?`, []any{kind, a.Key}, func(r row) error {
		j.scan(r)
		return a.same(j, r.blob(jobColumnCount))
	})
	if err != nil || taken {
		return queue.Enqueued{Job: queue.Job{ID: j.id}}, taken, err
	}
	return t.remembered(a)
}

// replayed is the job of a replay, which may have been pruned just now.
func (q *Queue) replayed(ctx context.Context, a *accepted, id int64) (e queue.Enqueued, err error) {
	err = q.read(ctx, "get", func(s *snapshot) error {
		j, err := s.job(queue.Ref{ID: id})
		switch {
		case err == nil:
			e.Job, err = s.whole(j)
			return err
		case !errors.Is(err, queue.ErrNotFound):
			return err
		}
		again, found, read := s.remembered(a)
		if read != nil || !found {
			return errors.Join(read, err)
		}
		e = again
		return nil
	})
	return e, err
}

// remembered answers for a job that was pruned: its key is taken all the same.
func (v *view) remembered(a *accepted) (e queue.Enqueued, found bool, err error) {
	found, err = v.one(`SELECT m.job_id, m.digest, m.named_limit, m.state, m.finished_at FROM remembered m
		JOIN kinds k ON k.id = m.kind_id WHERE k.name = ? AND m.key = ?`, []any{a.Kind, a.Key}, func(r row) error {
		e = queue.Enqueued{Pruned: true, Job: queue.Job{
			ID: r.int(0), Kind: a.Kind, Key: a.Key,
			NamedAttempts: int(r.int(2)), State: states.word(code(r.int(3))), FinishedAt: atMS(r, 4),
			IdempotencyKey: queue.IdempotencyKey(v.q.uid, a.Kind, a.Key),
		}}
		return a.same(&jobRow{id: r.int(0), namedLimit: r.int(2)}, r.blob(1))
	})
	return e, found, err
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

// difference says where the payload of a stored job differs from another; empty
// where that cannot be read.
func (q *Queue) difference(ctx context.Context, id int64, payload string) (place string) {
	_ = q.read(ctx, "get", func(s *snapshot) error {
		_, err := s.one(`SELECT payload FROM job_data WHERE job_id = ?`, []any{id}, func(r row) error {
			place = queue.Difference([]byte(r.text(0)), []byte(payload))
			return nil
		})
		return err
	})
	return place
}

// same answers nil if the stored job is the one that is enqueued again.
func (a *accepted) same(j *jobRow, digest []byte) error {
	name := fmt.Sprintf("%s/%s is #%d", a.Kind, a.Key, j.id)
	switch {
	case !bytes.Equal(digest, a.digest):
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
