package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
)

// What runs is what the queue holds as leased, and what waits is what it counts
// as due: it knows the end of a run with the commit that settled it, while a
// service writes its status a few times a second. The service adds what it alone knows: pids and progress.

// leasedJobs are the jobs that somebody works on, by id.
func leasedJobs(ctx context.Context, q *sqlite.Queue) ([]queue.Job, error) {
	return q.List(ctx, queue.Filter{States: []queue.State{queue.StateLeased}, Limit: queue.MaxPage})
}

// correctRuns makes a service's runs those that the queue holds for it, and
// answers the leases of everybody else. A run that the queue has ended stays
// only while the service names processes that outlive it.
func correctRuns(s *supervisor.Status, leased []queue.Job) (others []queue.Job) {
	said := make(map[int64]supervisor.RunStatus, len(s.Running))
	for _, r := range s.Running {
		said[r.ID] = r
	}
	runs := []supervisor.RunStatus{}
	for i := range leased {
		j := &leased[i]
		if j.Worker != s.Worker {
			others = append(others, *j)
			continue
		}
		r, ok := said[j.ID]
		if !ok || r.Fence != j.Fence {
			r = supervisor.RunStatus{ID: j.ID, Kind: j.Kind, Key: j.Key, Fence: j.Fence, Attempt: j.Attempt, Since: j.UpdatedAt}
		}
		delete(said, j.ID)
		runs = append(runs, r)
	}
	for _, r := range said {
		if len(r.Left) > 0 {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(x, y supervisor.RunStatus) int { return cmp.Compare(x.ID, y.ID) })
	s.Running = runs
	for i := range s.Handlers {
		h := &s.Handlers[i]
		h.Running = 0
		for _, r := range runs {
			if r.Kind == h.Kind {
				h.Running++
			}
		}
	}
	return others
}

// correctWaiting makes what waits for a service's handlers what the queue counts.
func correctWaiting(s *supervisor.Status, m queue.Metrics) {
	for i := range s.Handlers {
		h := &s.Handlers[i]
		h.Waiting = m.Kinds[h.Kind].Ready
	}
}

// runLine is one running job in a sentence.
func (a *app) runLine(r supervisor.RunStatus) string {
	now := now()
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s/%s: running %s", r.ID, escape(r.Kind), escape(r.Key), span(now.Sub(r.Since)))
	if r.Percent != nil {
		fmt.Fprintf(&b, ", %.0f %%", *r.Percent)
	}
	if r.Message != "" {
		fmt.Fprintf(&b, " %s", brief(r.Message, 80))
	}
	if !r.ProgressAt.IsZero() {
		fmt.Fprintf(&b, " (%s)", relative(now, r.ProgressAt))
	}
	if r.PID != 0 {
		fmt.Fprintf(&b, ", pid %d", r.PID)
	}
	if !r.TimeoutAt.IsZero() {
		fmt.Fprintf(&b, ", timeout %s", relative(now, r.TimeoutAt))
	}
	if r.Stopping != "" {
		fmt.Fprintf(&b, ", being stopped: %s", escape(r.Stopping))
	}
	if len(r.Left) > 0 {
		fmt.Fprintf(&b, ", still alive: %v", r.Left)
	}
	return b.String() + " · " + a.command("cancel %d", r.ID)
}

// tellOthers says which jobs are leased to somebody else than the service here.
func (a *app) tellOthers(leased []queue.Job) {
	const most = 20
	now := now()
	for i := range leased {
		if i == most {
			a.say("… and %d more: %s", len(leased)-most, a.command("list --state leased"))
			return
		}
		j := &leased[i]
		a.say("%s: held by %s for %s, lease until %s", name(j), escape(j.Worker), span(now.Sub(j.UpdatedAt)), when(now, j.LeaseExpiresAt))
	}
}
