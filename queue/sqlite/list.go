package sqlite

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// List answers the jobs that a filter selects, by id, without payload, meta,
// result and effects. The page after is Filter.After with the last id. What a page
// costs depends on what is on it, not on how many other jobs there are, but for
// what no index can tell: jobs that are due or stuck are sorted, however many they
// are, and those that are too young, or fit a state or a prefix but not both, are
// passed over.
func (q *Queue) List(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	if err := f.Check(); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	var jobs []queue.Job
	err := q.read(ctx, "list", func(s *snapshot) error {
		ids, err := s.selection(&f)
		if err != nil {
			return err
		}
		for _, id := range ids {
			job, err := s.listed(id)
			if err != nil {
				return err
			}
			jobs = append(jobs, job)
		}
		return nil
	})
	return jobs, err
}

// listed is one job as List shows it.
func (v *view) listed(id int64) (queue.Job, error) {
	j, err := v.job(queue.Ref{ID: id})
	if err != nil {
		return queue.Job{}, err
	}
	kind, err := v.kindName(j.kind)
	if err != nil {
		return queue.Job{}, err
	}
	job, err := v.describe(j, kind)
	if err != nil {
		return queue.Job{}, err
	}
	return job, v.holder(&job)
}
