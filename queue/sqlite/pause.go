package sqlite

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// Pause keeps everybody from claiming jobs of a kind, or lets them again. It is
// durable, touches no run under way, and asking twice changes nothing. A kind that
// never had a job wraps queue.ErrNotFound: a name that is misspelt must not pass
// for one that is paused.
func (q *Queue) Pause(ctx context.Context, kind string, paused bool) error {
	if err := queue.ValidKind(kind); err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return q.write(ctx, "pause", &request{run: func(t *transaction) error {
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
