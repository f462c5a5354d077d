package sqlite

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// CloseJob records what a person found out about a dead or quarantined job. The
// job is answered as it then stands.
func (q *Queue) CloseJob(ctx context.Context, ref queue.Ref, f queue.Finding) (queue.Job, error) {
	if err := f.Check(); err != nil {
		return queue.Job{}, fmt.Errorf("close: %w", err)
	}
	result := string(f.Result) // the caller may leave before it is recorded
	return q.change(ctx, "close", ref, func(t *transaction, j *jobRow) error {
		if err := t.move(j, queue.EventClose, states.code(f.As), j.fence, entry{detail: f.Note}); err != nil {
			return err
		}
		if result == "" {
			return nil
		}
		_, err := t.exec(putResult, j.id, result)
		return err
	})
}
