package sqlite

import (
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// missingNumber is the error for a number that was given out. A restore leaves a gap for
// those that the old queue gave out after the snapshot.
func (v *view) missingNumber(id int64) error {
	restored, err := v.number(`SELECT restored_at IS NOT NULL FROM queue`)
	if err != nil {
		return err
	}
	or := ""
	if restored != 0 {
		or = " or belongs to the queue this was restored from"
	}
	return fmt.Errorf("job %d: its number was given out, it may have been pruned since%s: %w", id, or, queue.ErrNotFound)
}

// missing is the error for a job that is not there. Where it was pruned the error
// says so: of a key that is known, of a number it is likely.
func (v *view) missing(ref queue.Ref) error {
	if ref.ID != 0 {
		last, err := v.number(`SELECT seq FROM sqlite_sequence WHERE name = 'jobs'`)
		if err == nil && ref.ID <= last {
			err = v.missingNumber(ref.ID)
		}
		if err != nil {
			return err
		}
		return fmt.Errorf("job %s: %w", ref, queue.ErrNotFound)
	}
	was := &queue.PrunedError{Job: queue.Job{Kind: ref.Kind, Key: ref.Key}}
	found, err := v.one(`SELECT m.job_id, m.state, m.finished_at FROM remembered m JOIN kinds k ON k.id = m.kind_id
		WHERE k.name = ? AND m.key = ?`, []any{ref.Kind, ref.Key}, func(r row) error {
		was.Job.ID, was.Job.State, was.Job.FinishedAt = r.int(0), states.word(code(r.int(1))), atMS(r, 2)
		return nil
	})
	switch {
	case err != nil:
		return err
	case found:
		return was
	}
	return fmt.Errorf("job %s: %w", ref, queue.ErrNotFound)
}
