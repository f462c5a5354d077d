package sqlite

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// Get answers a job as it stands, payload, result and effects included;
// queue.ErrNotFound if there is none.
func (q *Queue) Get(ctx context.Context, ref queue.Ref) (queue.Job, error) {
	if err := ref.Check(); err != nil {
		return queue.Job{}, fmt.Errorf("get: %w", err)
	}
	var job queue.Job
	err := q.read(ctx, "get", func(s *snapshot) error {
		j, err := s.job(ref)
		if err != nil {
			return err
		}
		job, err = s.whole(j)
		return err
	})
	return job, err
}
