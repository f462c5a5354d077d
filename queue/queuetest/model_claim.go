package queuetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// Claim leases jobs, after it has expired what is over.
func (q *modelQueue) Claim(ctx context.Context, r queue.ClaimRequest) (claimed []queue.Claimed, err error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	err = q.write(ctx, func(m *moment) error {
		m.expire()
		if r.Most == 0 {
			for _, w := range r.Wants {
				for _, job := range m.candidates(w) {
					claimed = append(claimed, m.lease(job, r, w))
				}
			}
			return nil
		}
		var all []*record
		takes := map[*record]queue.Want{}
		for _, w := range r.Wants {
			for _, job := range m.candidates(w) {
				if _, wanted := takes[job]; !wanted {
					takes[job] = w
					all = append(all, job)
				}
			}
		}
		slices.SortFunc(all, byRank)
		for _, job := range all[:min(len(all), r.Most)] {
			claimed = append(claimed, m.lease(job, r, takes[job]))
		}
		return nil
	})
	return claimed, err
}

// byRank is the order in which jobs are claimed.
func byRank(a, b *record) int {
	return cmp.Or(
		cmp.Compare(b.job.Priority, a.job.Priority),
		a.job.AvailableAt.Compare(b.job.AvailableAt),
		cmp.Compare(a.job.ID, b.job.ID))
}

// candidates are the jobs that a want takes, best first.
func (m *moment) candidates(w queue.Want) (list []*record) {
	for kind, paused := range m.kinds {
		if !paused && (w.Kind == "" || w.Kind == kind) {
			m.promote(kind)
		}
	}
	for _, r := range m.jobs {
		if r.job.State == queue.StateReady && !m.kinds[r.job.Kind] && (w.Kind == "" || w.Kind == r.job.Kind) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, byRank)
	return list[:min(len(list), w.Max)]
}

func (m *moment) lease(r *record, by queue.ClaimRequest, w queue.Want) queue.Claimed {
	r.job.Fence++
	r.job.Attempt++
	r.job.MaxAttempts = cmp.Or(r.job.NamedAttempts, w.Rule.MaxAttempts, queue.DefaultMaxAttempts)
	r.held = &hold{
		Lease: queue.Lease{Token: queue.NewToken(), Fence: r.job.Fence, Length: by.Lease, Deadline: m.mono + by.Lease},
		boot:  m.boot, worker: by.Worker, rule: w.Rule.Uncertain, claimedAt: m.now,
	}
	about := queue.Entry{Worker: by.Worker}
	if w.HandlerDigest != "" {
		about.Detail = "handler sha256 " + w.HandlerDigest
	}
	if err := m.move(r, queue.EventClaim, queue.StateLeased, about); err != nil {
		panic(err) // it was ready
	}
	return queue.Claimed{Job: m.whole(r), Lease: r.held.Lease}
}

// live answers nil if the token holds the job's lease. A lease of another boot
// lives until somebody has expired it.
func (m *moment) live(r *record, token queue.Token) error {
	switch h := r.held; {
	case h == nil:
		return fmt.Errorf("job %d: no lease stands on it: %w", r.job.ID, queue.ErrLeaseLost)
	case h.Token != token:
		return fmt.Errorf("job %d: another claim holds it: %w", r.job.ID, queue.ErrLeaseLost)
	case h.boot == m.boot && m.mono >= h.Deadline:
		return fmt.Errorf("job %d: its time is over: %w", r.job.ID, queue.ErrLeaseLost)
	}
	return nil
}

// Renew keeps leases, each with its own answer.
func (q *modelQueue) Renew(ctx context.Context, list []queue.Renewal) ([]queue.Renewed, error) {
	if len(list) > queue.MaxRenewals {
		return nil, fmt.Errorf("%d leases, at most %d: %w", len(list), queue.MaxRenewals, queue.ErrInvalid)
	}
	answers := make([]queue.Renewed, len(list))
	err := q.write(ctx, func(m *moment) error {
		for i, r := range list {
			answers[i] = m.renew(r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (m *moment) renew(r queue.Renewal) queue.Renewed {
	if err := r.Check(); err != nil {
		return queue.Renewed{Err: err}
	}
	job, err := m.find(queue.Ref{ID: r.ID})
	if err != nil {
		return queue.Renewed{Err: fmt.Errorf("job %d: no lease stands on it: %w", r.ID, queue.ErrLeaseLost)}
	}
	if err := m.live(job, r.Token); err != nil {
		return queue.Renewed{Err: err}
	}
	h := job.held
	if deadline := m.mono + r.Length; h.boot != m.boot || h.Deadline < deadline { // never shorter
		h.boot, h.Length, h.Deadline = m.boot, r.Length, deadline
	}
	return queue.Renewed{Deadline: h.Deadline, CancelRequested: job.job.CancelRequested}
}

// Expire ends the runs that nobody settled.
func (q *modelQueue) Expire(ctx context.Context) (expired []queue.Expired, err error) {
	err = q.write(ctx, func(m *moment) error {
		expired = m.expire()
		return nil
	})
	return expired, err
}

// expire ends the leases that are over by their margin, those over longest first.
func (m *moment) expire() (expired []queue.Expired) {
	var over []*record
	at := map[*record]time.Duration{}
	for _, r := range m.jobs {
		if r.held == nil {
			continue
		}
		if expiry := m.expiry(r); expiry <= m.mono {
			over = append(over, r)
			at[r] = expiry
		}
	}
	slices.SortStableFunc(over, func(a, b *record) int { return cmp.Compare(at[a], at[b]) })
	for _, r := range over {
		worker := r.held.worker
		d := queue.DecideExpiry(m.standing(r))
		m.apply(r, queue.Outcome{}, d, joined("nobody settled the run", d.Note))
		expired = append(expired, queue.Expired{
			ID: r.job.ID, Kind: r.job.Kind, Key: r.job.Key, Fence: r.job.Fence, Worker: worker, To: d.To,
		})
	}
	return expired
}
