package sqlite

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// Pause keeps everybody from claiming jobs of a kind, or lets them again. It is
// durable, touches no run under way, and asking twice changes nothing. A kind may
// be paused before its first job, and is listed by Metrics from then on: whoever
// asks people for a name looks there first, whether it is misspelt. To resume a
// kind that is neither paused nor ever had a job wraps queue.ErrNotFound.
func (q *Queue) Pause(ctx context.Context, kind string, paused bool) error {
	if err := queue.ValidKind(kind); err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return q.write(ctx, "pause", &request{run: func(t *transaction) error {
		if paused { // the kind may be new
			if _, err := t.kind(kind); err != nil {
				return err
			}
		}
		list, err := t.kinds([]string{kind})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("kind %s has had no job yet: %w", kind, queue.ErrNotFound)
		}
		if list[0].paused == paused {
			return nil
		}
		_, err = t.exec(`UPDATE kinds SET paused = ? WHERE id = ?`, paused, list[0].id)
		return err
	}})
}
