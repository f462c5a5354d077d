package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/b1213022/bailiff/queue"
)

// Claim leases jobs: for each want in order up to Max of its kind, the highest
// priority first, then the oldest due, then the lowest id; with Most, in that
// order over all wants. Paused kinds are left alone. It also expires leases that
// are over, whatever their kind, says so in the log, and promotes what is due of
// the kinds asked for. An empty answer means that nothing of these kinds is due; a
// claim with that answer wrote nothing unless it expired a lease. Large payloads
// make an answer shorter, which is no sign that nothing is left: one commit reads
// about 8 MiB of them. The jobs of a caller that stopped waiting after its claim
// had begun are given back, as never given to anybody.
func (q *Queue) Claim(ctx context.Context, r queue.ClaimRequest) ([]queue.Claimed, error) {
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	r.Wants = slices.Clone(r.Wants) // the caller may leave before they are read
	weight := 0
	for _, w := range r.Wants {
		weight += w.Max
	}
	if r.Most > 0 {
		weight = min(weight, r.Most)
	}
	for {
		var claimed []queue.Claimed
		var expired []queue.Expired
		var more bool
		err := q.write(ctx, "claim", &request{
			weight: weight,
			run: func(t *transaction) (err error) {
				claimed, expired, more, err = t.claim(&r)
				return err
			},
			orphan: func() *request {
				q.tell(expired)
				return q.giveBack(claimed)
			},
		})
		if err != nil {
			return nil, err
		}
		q.tell(expired)
		if len(claimed) > 0 || !more {
			return claimed, nil
		}
	}
}

// giveBack undoes a claim whose answer nobody took. It is tried until it succeeds
// or the leases end.
func (q *Queue) giveBack(claimed []queue.Claimed) *request {
	if len(claimed) == 0 {
		return nil
	}
	return &request{
		essential: true,
		weight:    len(claimed),
		run: func(t *transaction) error {
			for _, c := range claimed {
				s := &queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: queue.Outcome{
					Is: queue.RunSnooze, NotGiven: true, Reason: "whoever claimed it had gone before it was answered",
				}}
				// Where the lease is over, somebody else has seen to the job.
				if _, err := t.settle(s); err != nil && !errors.Is(err, queue.ErrLeaseLost) && !errors.Is(err, queue.ErrNotFound) {
					return err
				}
			}
			return nil
		},
		keep: func() bool { return q.clock.Mono() < claimed[0].Lease.Deadline },
	}
}

// claim answers more if it stopped at a bound: to ask again may find something.
func (t *transaction) claim(r *queue.ClaimRequest) (claimed []queue.Claimed, expired []queue.Expired, more bool, err error) {
	if expired, more, err = t.expire(); err != nil {
		return nil, nil, false, err
	}
	if r.Most > 0 {
		claimed, err = t.claimBest(r)
	} else {
		claimed, err = t.claimEach(r)
	}
	return claimed, expired, more || t.read >= batchBytes, err
}

// claimEach serves the wants one after another.
func (t *transaction) claimEach(r *queue.ClaimRequest) (claimed []queue.Claimed, err error) {
	for i := range r.Wants {
		jobs, err := t.candidates(&r.Wants[i], r.Wants[i].Max)
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			if t.read >= batchBytes {
				return claimed, nil
			}
			c, err := t.lease(j, r, &r.Wants[i])
			if err != nil {
				return nil, err
			}
			claimed = append(claimed, c)
		}
	}
	return claimed, nil
}

// claimBest takes the best of what all wants would take.
func (t *transaction) claimBest(r *queue.ClaimRequest) (claimed []queue.Claimed, err error) {
	var all []*jobRow
	takes := make(map[*jobRow]*queue.Want)
	for i := range r.Wants {
		jobs, err := t.candidates(&r.Wants[i], min(r.Wants[i].Max, r.Most))
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			takes[j] = &r.Wants[i]
		}
		all = append(all, jobs...)
	}
	slices.SortStableFunc(all, byRank)
	all = slices.CompactFunc(all, func(a, b *jobRow) bool { return a.id == b.id }) // wanted twice
	for _, j := range all[:min(len(all), r.Most)] {
		if t.read >= batchBytes {
			break
		}
		c, err := t.lease(j, r, takes[j])
		if err != nil {
			return nil, err
		}
		claimed = append(claimed, c)
	}
	return claimed, nil
}

// byRank is the order in which jobs are claimed.
func byRank(a, b *jobRow) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id))
}

// candidates are the up to n jobs that a want takes, best first.
func (t *transaction) candidates(w *queue.Want, n int) (jobs []*jobRow, err error) {
	var names []string // nil: all
	if w.Kind != "" {
		names = []string{w.Kind}
	}
	kinds, err := t.kinds(names)
	if err != nil {
		return nil, err
	}
	kinds = slices.DeleteFunc(kinds, func(k kind) bool { return k.paused })
	for _, k := range kinds {
		if err := t.promote(k.id, t.step(n, len(kinds)), n); err != nil {
			return nil, err
		}
		if err := t.each(`SELECT `+jobColumns+` FROM jobs j WHERE j.state = 2 AND j.kind_id = ?
			ORDER BY j.priority DESC, j.due_at, j.id LIMIT ?`, []any{k.id, n}, func(r row) error {
			j := &jobRow{}
			j.scan(r)
			jobs = append(jobs, j)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if len(kinds) > 1 {
		slices.SortFunc(jobs, byRank)
	}
	return jobs[:min(len(jobs), n)], nil
}

// lease gives a ready job to the worker, under a new token and the next fence.
func (t *transaction) lease(j *jobRow, r *queue.ClaimRequest, w *queue.Want) (queue.Claimed, error) {
	worker, err := t.worker(r.Worker)
	if err != nil {
		return queue.Claimed{}, err
	}
	boot, err := t.boot()
	if err != nil {
		return queue.Claimed{}, err
	}
	handler, err := t.handler(w.HandlerDigest)
	if err != nil {
		return queue.Claimed{}, err
	}
	fence := j.fence
	j.fence++
	j.attempt++
	j.lastLimit = int64(cmp.Or(w.Rule.MaxAttempts, queue.DefaultMaxAttempts))
	if err := t.move(j, queue.EventClaim, leased, fence, entry{worker: worker, handler: handler}); err != nil {
		return queue.Claimed{}, err
	}
	l := queue.Lease{Token: queue.NewToken(), Fence: j.fence, Length: r.Lease, Deadline: t.mono + r.Lease}
	_, err = t.exec(`INSERT INTO leases (job_id, fence, token, worker_id, boot_id, length, deadline_mono, expires_mono,
		uncertain, attempt_limit, handler_id, guardian, start, claimed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		j.id, l.Fence, tokenDigest(l.Token), worker, boot, int64(l.Length), int64(l.Deadline), int64(l.Deadline+queue.Margin(l.Length)),
		uncertainRules.code(cmp.Or(w.Rule.Uncertain, queue.UncertainAsk)), j.limit(), zeroNull(handler),
		orNull(r.Owner.Guardian), zeroNull(r.Owner.Start), t.ms())
	if err != nil {
		return queue.Claimed{}, err
	}
	job, err := t.whole(j)
	t.read += len(job.Payload)
	return queue.Claimed{Job: job, Lease: l}, err
}
