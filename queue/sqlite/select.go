package sqlite

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/b1213022/bailiff/queue"
)

// Where streams come from. The index jobs_listed holds all states but one, and SQLite
// sees that it holds what a query wants where the query says so too.
const (
	allJobs    = `jobs j WHERE true`
	listedJobs = `jobs j INDEXED BY jobs_listed WHERE kind_id = ?1 AND state <> 3 AND state = `
	leasedJobs = `leases l CROSS JOIN jobs j ON j.id = l.job_id WHERE true`
	// notDue are the scheduled jobs that are due by neither clock.
	notDue = `jobs j WHERE state = 1 AND kind_id = ?1 AND due_at > ?2
		AND id NOT IN (SELECT id FROM jobs WHERE ` + dueByMono + ` AND due_at > ?2)`
)

// selection answers the ids of the page that a filter asks for.
func (v *view) selection(f *queue.Filter) ([]int64, error) {
	n := cmp.Or(f.Limit, queue.DefaultPage)
	kinds, err := v.filtered(f.Kind)
	if err != nil {
		return nil, err
	}
	if f.KeyPrefix != "" && !f.Stuck {
		return v.byPrefix(f, kinds, n)
	}
	streams, err := v.streams(f, kinds)
	if err != nil {
		return nil, err
	}
	return v.merge(streams, f.After, n)
}

// filtered are the kinds of a filter that names one, or none for all.
func (v *view) filtered(name string) ([]kind, error) {
	if name == "" {
		return v.kinds(nil)
	}
	return v.kinds([]string{name})
}

// streams are those that hold together what a filter selects.
func (v *view) streams(f *queue.Filter, kinds []kind) (list []*stream, err error) {
	switch {
	case f.Stuck:
		list, err = v.stuck(f, kinds)
	case f.Kind == "" && len(f.States) == 0:
		list, err = v.add(nil, 0, allJobs)
	default:
		list, err = v.byState(f, kinds)
	}
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if f.KeyPrefix != "" {
			// The plus keeps SQLite from finding the keys by their index.
			s.where(`+j.key >= ` + s.param(f.KeyPrefix) + ` AND +j.key < ` + s.param(keyEnd(f.KeyPrefix)))
		}
		if f.OlderThan > 0 && !f.Stuck {
			s.where(v.older(s, f))
		}
	}
	return list, nil
}

// older selects the jobs that have not moved for as long as a filter says.
func (v *view) older(s *stream, f *queue.Filter) string {
	return `j.updated_at <= ` + s.param(v.now.Add(-f.OlderThan).UnixMilli())
}

// add begins a stream.
func (v *view) add(list []*stream, kind int64, from string) ([]*stream, error) {
	s, err := v.stream(kind, from)
	return append(list, s), err
}

// addWhole begins a stream that sorts what it finds.
func (v *view) addWhole(list []*stream, kind int64, from string) ([]*stream, error) {
	list, err := v.add(list, kind, from)
	list[len(list)-1].whole = true
	return list, err
}

// byState are the streams of each kind and state, and one for what is leased.
func (v *view) byState(f *queue.Filter, kinds []kind) (list []*stream, err error) {
	has := func(state queue.State) bool { return len(f.States) == 0 || slices.Contains(f.States, state) }
	if has(queue.StateLeased) {
		if list, err = v.leases(list, f, kinds); err != nil {
			return nil, err
		}
	}
	for _, k := range kinds {
		for _, state := range queue.States() {
			if !has(state) || state == queue.StateLeased || state == queue.StateScheduled {
				continue
			}
			if list, err = v.add(list, k.id, listedJobs+fmt.Sprint(int64(states.code(state)))); err != nil {
				return nil, err
			}
		}
		if list, err = v.waiting(list, k.id, has(queue.StateScheduled), has(queue.StateReady)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// leases adds the stream of the leased jobs, which are few enough to be sorted.
func (v *view) leases(list []*stream, f *queue.Filter, kinds []kind) ([]*stream, error) {
	switch {
	case f.Kind == "":
		return v.addWhole(list, 0, leasedJobs)
	case len(kinds) == 1:
		return v.addWhole(list, kinds[0].id, leasedJobs+` AND j.kind_id = ?1`)
	}
	return list, nil // there is no such kind
}

// manyDue is from how many scheduled jobs on that are due they are not passed over
// to find the others: the others are sorted.
const manyDue = 1000

// waiting adds the scheduled jobs of a kind: those that are due count as ready.
func (v *view) waiting(list []*stream, kind int64, others, due bool) (_ []*stream, err error) {
	switch {
	case others && due:
		return v.add(list, kind, listedJobs+`1`)
	case due:
		if list, err = v.addWhole(list, kind, `jobs j WHERE `+dueByWall); err != nil {
			return nil, err
		}
		return v.addWhole(list, kind, `jobs j WHERE `+dueByMono+` AND due_at > ?2`)
	case !others:
		return list, nil
	}
	n, err := v.countDueUpTo(kind, manyDue)
	switch {
	case err != nil:
		return nil, err
	case n < manyDue:
		return v.add(list, kind, listedJobs+`1 AND `+dueNow+` IS NOT TRUE`)
	}
	return v.addWhole(list, kind, notDue)
}
