package sqlite

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// Note keeps in a job's history what became known of a run after it was over,
// such as an outcome that came too late. It moves nothing. The text is cut to
// queue.MaxReason. A fence that no run of the job has had wraps queue.ErrInvalid.
func (q *Queue) Note(ctx context.Context, id int64, fence int64, text string) error {
	ref := queue.Ref{ID: id}
	if err := ref.Check(); err != nil {
		return fmt.Errorf("note: %w", err)
	}
	text = queue.CutText(text, queue.MaxReason)
	return q.write(ctx, "note", &request{run: func(t *transaction) error {
		j, err := t.job(ref)
		if err != nil {
			return err
		}
		if fence < 0 || fence > j.fence {
			return fmt.Errorf("fence %d: job %d has come to %d: %w", fence, id, j.fence, queue.ErrInvalid)
		}
		j.fence = fence
		return t.record(j, queue.EventNote, j.state, entry{detail: text})
	}})
}
