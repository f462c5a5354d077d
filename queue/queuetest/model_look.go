package queuetest

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// stands is where a job stands, as callers see it, and since when it is due: a
// scheduled job that is due is ready.
func (m *moment) stands(r *record) (queue.State, time.Time) {
	if r.job.State == queue.StateScheduled {
		if since, due := m.due(r); due {
			return queue.StateReady, since
		}
	}
	return r.job.State, r.job.AvailableAt
}

// seenAs is a job without what may be long.
func (m *moment) seenAs(r *record) queue.Job {
	job := r.job
	job.State, job.AvailableAt = m.stands(r)
	if h := r.held; h != nil {
		job.Worker = h.worker
		job.LeaseExpiresAt = m.now.Add(m.expiry(r) - queue.Margin(h.Length) - m.mono).Round(time.Millisecond)
	}
	return job
}

// brief is a job as in a list.
func (m *moment) brief(r *record) queue.Job {
	job := m.seenAs(r)
	job.Payload, job.Meta, job.Result = nil, nil, nil
	return job
}

// whole is a job with all that belongs to it.
func (m *moment) whole(r *record) queue.Job {
	job := m.seenAs(r)
	job.Payload, job.Meta, job.Result = bytes.Clone(job.Payload), bytes.Clone(job.Meta), bytes.Clone(job.Result)
	return job
}

// Get answers a job as it stands.
func (q *modelQueue) Get(ctx context.Context, ref queue.Ref) (job queue.Job, err error) {
	if err := ref.Check(); err != nil {
		return job, err
	}
	err = q.read(ctx, func(m *moment) error {
		r, err := m.find(ref)
		if err == nil {
			job = m.whole(r)
		}
		return err
	})
	return job, err
}

// List answers the jobs that a filter selects.
func (q *modelQueue) List(ctx context.Context, f queue.Filter) (jobs []queue.Job, err error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	err = q.read(ctx, func(m *moment) error {
		page, _ := m.selected(f)
		for _, r := range page {
			jobs = append(jobs, m.brief(r))
		}
		return nil
	})
	return jobs, err
}

// selected is a page of what a filter selects, and whether there is more after it.
func (m *moment) selected(f queue.Filter) (page []*record, more bool) {
	limit := cmp.Or(f.Limit, queue.DefaultPage)
	for _, r := range m.jobs {
		switch {
		case r.job.ID <= f.After || !m.selects(f, r):
		case len(page) == limit:
			return page, true
		default:
			page = append(page, r)
		}
	}
	return page, false
}

func (m *moment) selects(f queue.Filter, r *record) bool {
	state, since := m.stands(r)
	if len(f.States) > 0 && !slices.Contains(f.States, state) ||
		f.Kind != "" && f.Kind != r.job.Kind || !strings.HasPrefix(r.job.Key, f.KeyPrefix) {
		return false
	}
	if !f.Stuck {
		return f.OlderThan == 0 || !r.job.UpdatedAt.After(m.now.Add(-f.OlderThan))
	}
	long := m.now.Add(-cmp.Or(f.OlderThan, queue.StuckAfter))
	switch {
	case state == queue.StateLeased:
		return !r.held.claimedAt.After(long) || r.held.boot == m.boot && r.held.Deadline <= m.mono
	case state == queue.StateReady:
		return !m.kinds[r.job.Kind] && !since.After(long)
	}
	return false
}

// History answers the newest entries of a job.
func (q *modelQueue) History(ctx context.Context, id int64, limit int) (list []queue.Entry, err error) {
	ref := queue.Ref{ID: id}
	if err := cmp.Or(ref.Check(), queue.CheckHistory(limit)); err != nil {
		return nil, err
	}
	err = q.read(ctx, func(m *moment) error {
		r, err := m.find(ref)
		if err != nil {
			return err
		}
		n := min(len(r.history), cmp.Or(limit, queue.DefaultHistory))
		list = slices.Clone(r.history[len(r.history)-n:])
		return nil
	})
	return list, err
}

// Metrics counts the jobs.
func (q *modelQueue) Metrics(ctx context.Context) (queue.Metrics, error) {
	all := queue.Metrics{Kinds: map[string]queue.KindMetrics{}}
	err := q.read(ctx, func(m *moment) error {
		for kind, paused := range m.kinds {
			all.Kinds[kind] = queue.KindMetrics{Paused: paused}
		}
		for _, r := range m.jobs {
			state, since := m.stands(r)
			k := all.Kinds[r.job.Kind]
			count(&all.Counts, state)
			count(&k.Counts, state)
			if state == queue.StateReady {
				k.OldestReady = max(k.OldestReady, m.now.Sub(since))
				k.HasOldestReady = true
			}
			all.Kinds[r.job.Kind] = k
		}
		return nil
	})
	return all, err
}

// count adds one job.
func count(c *queue.Counts, s queue.State) {
	*map[queue.State]*int64{
		queue.StateScheduled: &c.Scheduled, queue.StateReady: &c.Ready, queue.StateLeased: &c.Leased,
		queue.StateDone: &c.Done, queue.StateDead: &c.Dead,
		queue.StateQuarantined: &c.Quarantined, queue.StateCancelled: &c.Cancelled,
	}[s]++
}

// Agenda tells what there is to do now and when to look again.
func (q *modelQueue) Agenda(ctx context.Context, kinds []string) (queue.Agenda, error) {
	a := queue.Agenda{Ready: map[string]int64{}}
	err := q.read(ctx, func(m *moment) error {
		for _, r := range m.jobs {
			if r.held != nil {
				if at := m.expiry(r); !a.HasNextExpiry || at < a.NextExpiry {
					a.NextExpiry, a.HasNextExpiry = at, true
				}
				if r.job.CancelRequested && len(a.Cancelled) < 1000 {
					a.Cancelled = append(a.Cancelled, r.job.ID)
				}
			}
			if !slices.Contains(kinds, r.job.Kind) || m.kinds[r.job.Kind] {
				continue
			}
			switch state, _ := m.stands(r); state {
			case queue.StateReady:
				a.Ready[r.job.Kind]++
			case queue.StateScheduled:
				if at := m.falls(r); a.NextDue.IsZero() || at.Before(a.NextDue) {
					a.NextDue = at
				}
			}
		}
		return nil
	})
	return a, err
}
