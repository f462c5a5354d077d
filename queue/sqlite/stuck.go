package sqlite

import (
	"cmp"
	"slices"

	"github.com/b1213022/bailiff/queue"
)

// stuck are the streams of the jobs that ought to move and do not.
func (v *view) stuck(f *queue.Filter, kinds []kind) (list []*stream, err error) {
	age := cmp.Or(f.OlderThan, queue.StuckAfter)
	before := v.now.Add(-age).UnixMilli()
	wants := func(state queue.State) bool { return len(f.States) == 0 || slices.Contains(f.States, state) }
	if wants(queue.StateLeased) {
		if list, err = v.leases(list, f, kinds); err != nil {
			return nil, err
		}
		for _, s := range list {
			s.where(`(l.claimed_at <= ` + s.param(before) + ` OR l.boot_id = ?3 AND l.deadline_mono <= ?4)`)
		}
	}
	if !wants(queue.StateReady) {
		return list, nil
	}
	for _, k := range kinds {
		if k.paused {
			continue
		}
		if list, err = v.overdue(list, k.id, before, int64(v.mono-age)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// overdueJobs are those of a kind that are ready, of one priority, and were due at a
// moment.
func overdueJobs(priority, moment string) string {
	return `jobs j WHERE state = 2 AND kind_id = ?1 AND priority = ` + priority + ` AND due_at <= ` + moment
}

// overdue adds the jobs of a kind that were due before a moment of both clocks. The
// ready ones are found for each priority in use, as they are ordered.
func (v *view) overdue(list []*stream, kind, wall, mono int64) (_ []*stream, err error) {
	if list, err = v.addWhole(list, kind, `jobs j WHERE `+dueByWall); err != nil {
		return nil, err
	}
	list[len(list)-1].args[1] = wall
	if list, err = v.addWhole(list, kind, `jobs j WHERE `+dueByMono+` AND due_at > ?2`); err != nil {
		return nil, err
	}
	list[len(list)-1].args[3] = mono
	priorities, err := v.priorities(kind)
	if err != nil {
		return nil, err
	}
	for _, p := range priorities {
		if list, err = v.addWhole(list, kind, ``); err != nil {
			return nil, err
		}
		s := list[len(list)-1]
		s.query += overdueJobs(s.param(p), s.param(wall))
	}
	return list, nil
}

// priorities are those of a kind's ready jobs.
func (v *view) priorities(kind int64) (list []int64, err error) {
	for below := int64(queue.MaxPriority) + 1; ; {
		found, err := v.one(`SELECT priority FROM jobs WHERE state = 2 AND kind_id = ? AND priority < ?
			ORDER BY priority DESC LIMIT 1`, []any{kind, below}, func(r row) error {
			below = r.int(0)
			return nil
		})
		if err != nil || !found {
			return list, err
		}
		list = append(list, below)
	}
}
