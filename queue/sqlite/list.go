package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/b1213022/bailiff/queue"
)

// List answers the jobs that a filter selects, by id, without payload, meta,
// result and effects. The page after is Filter.After with the last id.
func (q *Queue) List(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	if err := f.Check(); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	var jobs []queue.Job
	err := q.read(ctx, "list", func(s *snapshot) error {
		query, args, err := s.selection(&f)
		if err != nil {
			return err
		}
		if err := s.each(query, args, func(r row) error {
			j := &jobRow{}
			j.scan(r)
			job, err := s.describe(j, r.text(jobColumnCount))
			jobs = append(jobs, job)
			return err
		}); err != nil {
			return err
		}
		for i := range jobs {
			if err := s.holder(&jobs[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return jobs, err
}

// selection writes the query for a filter. States are written out, because
// SQLite uses a partial index only where it can see that the index holds them
// all; leased jobs are found by their leases.
func (s *snapshot) selection(f *queue.Filter) (query string, args []any, err error) {
	if args, err = s.moment(0); err != nil { // for dueNow
		return "", nil, err
	}
	param := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("?%d", len(args))
	}
	// The jobs that need a person are few among many and have an index of their
	// own; the plus keeps SQLite from walking all ids instead.
	id := `j.id`
	if len(f.States) > 0 && !slices.ContainsFunc(f.States, func(s queue.State) bool {
		return s != queue.StateDead && s != queue.StateQuarantined
	}) {
		id = `+j.id`
	}
	where := []string{id + ` > ` + param(f.After)}
	if len(f.States) > 0 {
		where = append(where, stateClause(f.States))
	}
	if f.Kind != "" {
		where = append(where, `j.kind_id = (SELECT id FROM kinds WHERE name = `+param(f.Kind)+`)`)
	}
	if f.KeyPrefix != "" {
		prefix := param(f.KeyPrefix)
		where = append(where, `substr(j.key, 1, length(`+prefix+`)) = `+prefix)
	}
	if f.OlderThan > 0 {
		where = append(where, `j.updated_at <= `+param(s.now.Add(-f.OlderThan).UnixMilli()))
	}
	return `SELECT ` + jobColumns + `, k.name FROM jobs j JOIN kinds k ON k.id = j.kind_id
		WHERE ` + strings.Join(where, ` AND `) + ` ORDER BY j.id LIMIT ` + param(cmp.Or(f.Limit, queue.DefaultPage)), args, nil
}

// stateClause selects by state, a scheduled job that is due being ready.
func stateClause(list []queue.State) string {
	has := func(state queue.State) bool { return slices.Contains(list, state) }
	var plain, parts []string
	for _, state := range list {
		switch {
		case state == queue.StateLeased:
			parts = append(parts, `j.id IN (SELECT job_id FROM leases)`)
		case state != queue.StateScheduled || has(queue.StateReady):
			plain = append(plain, fmt.Sprint(int64(states.code(state))))
		}
	}
	if len(plain) > 0 {
		parts = append(parts, `j.state IN (`+strings.Join(plain, `, `)+`)`)
	}
	switch {
	case has(queue.StateReady) && !has(queue.StateScheduled):
		parts = append(parts, `j.state = 1 AND `+dueNow)
	case has(queue.StateScheduled) && !has(queue.StateReady):
		parts = append(parts, `j.state = 1 AND `+dueNow+` IS NOT TRUE`)
	}
	return `(` + strings.Join(parts, ` OR `) + `)`
}
