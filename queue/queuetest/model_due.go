package queuetest

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

// setDue makes a job due after a delay, by whichever clock is first, so that a wall
// clock set back makes nothing wait longer.
func (m *moment) setDue(r *record, delay time.Duration) {
	r.job.AvailableAt = m.now.Add(delay).Truncate(time.Millisecond)
	r.boot, r.dueMono = "", 0
	if delay > 0 {
		r.boot, r.dueMono = m.boot, m.mono+delay
	}
}

// due reports whether a waiting job can be claimed, and since when. Where the wall
// clock is behind, the job is due since its delay was over.
func (m *moment) due(r *record) (since time.Time, is bool) {
	switch {
	case !r.job.AvailableAt.After(m.now):
		return r.job.AvailableAt, true
	case r.boot == m.boot && r.dueMono <= m.mono:
		return m.now.Add(-(m.mono - r.dueMono).Truncate(time.Millisecond)), true
	}
	return time.Time{}, false
}

// falls is when a scheduled job that is not due will be, by the wall clock.
func (m *moment) falls(r *record) time.Time {
	at := r.job.AvailableAt
	if r.boot == m.boot {
		left := (r.dueMono - m.mono + time.Millisecond - 1).Truncate(time.Millisecond)
		if byMono := m.now.Add(left); byMono.Before(at) {
			return byMono
		}
	}
	return at
}

// promote makes ready what is due of a kind. It writes no history.
func (m *moment) promote(kind string) {
	for _, r := range m.jobs {
		if r.job.Kind != kind || r.job.State != queue.StateScheduled {
			continue
		}
		if since, due := m.due(r); due {
			r.job.State, r.job.AvailableAt = queue.StateReady, since
		}
	}
}

// sighting is since when an observer has seen the lease of another boot as it is.
type sighting struct {
	fence    int64
	boot     string
	deadline time.Duration
	since    time.Duration
}

// expiry is when a lease may be expired, by this machine's monotonic clock. One of
// another boot counts on a clock that cannot be read: it has its length and two
// margins from when it was first seen as it is.
func (m *moment) expiry(r *record) time.Duration {
	h := r.held
	if h.boot == m.boot {
		return h.expires()
	}
	is := sighting{fence: h.Fence, boot: h.boot, deadline: h.Deadline, since: m.mono}
	if before, ok := m.seen[r.job.ID]; ok {
		if is.since = before.since; is != before {
			is.since = m.mono
		}
	}
	m.seen[r.job.ID] = is
	return is.since + h.Length + 2*queue.Margin(h.Length)
}
