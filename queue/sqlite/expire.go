package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/b1213022/bailiff/queue"
)

// expireBound is how many leases one commit expires.
const expireBound = 256

// Expire ends the runs that nobody settled, of all kinds, once their leases are
// over for longer than their margin: those over longest first, a bounded number
// at a time. An answer as long as the bound means that there may be more: call it
// again. A lease of another boot is over when this Queue has seen it unchanged for
// its length and a margin (stranger.go), so it takes a Queue that stays open.
func (q *Queue) Expire(ctx context.Context) ([]queue.Expired, error) {
	for {
		var expired []queue.Expired
		var more bool
		err := q.write(ctx, "expire", &request{run: func(t *transaction) (err error) {
			expired, more, err = t.expire()
			return err
		}})
		if err != nil {
			return nil, err
		}
		if len(expired) > 0 || !more {
			return expired, nil
		}
	}
}

// expire does what one commit does about leases that are over, for whichever of
// its requests asks first. It answers more if there may be others: to ask again,
// in another commit, may find them.
func (t *transaction) expire() (expired []queue.Expired, more bool, err error) {
	if t.expired {
		return nil, t.moreExpired, nil
	}
	over, err := t.over()
	if err != nil {
		return nil, false, err
	}
	for i := range over {
		e, err := t.expireOne(&over[i])
		if err != nil {
			return nil, false, err
		}
		expired = append(expired, e)
	}
	t.expired, t.moreExpired = true, len(over) == expireBound
	return expired, t.moreExpired, nil
}

const selectOver = `SELECT ` + heldColumns + ` FROM leases l JOIN workers w ON w.id = l.worker_id
	WHERE l.boot_id = ? AND l.expires_mono <= ? ORDER BY l.expires_mono LIMIT ?`

// over are the leases to be expired, of this boot and of others, those over longest
// first.
func (t *transaction) over() (list []held, err error) {
	boot, err := t.bootID()
	if err != nil {
		return nil, err
	}
	if err := t.each(selectOver,
		[]any{boot, int64(t.mono), expireBound}, func(r row) error {
			var h held
			h.scan(r)
			h.expires = h.deadline + queue.Margin(h.length)
			list = append(list, h)
			return nil
		}); err != nil {
		return nil, err
	}
	others, err := t.strangers()
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(s stranger) bool { return s.expires > t.mono })
	slices.SortFunc(others, func(a, b stranger) int { return cmp.Compare(a.expires, b.expires) })
	for _, s := range others[:min(len(others), expireBound)] {
		h, found, err := t.leaseOf(s.job)
		if err != nil {
			return nil, err
		}
		if found {
			h.expires = s.expires
			list = append(list, h)
		}
	}
	slices.SortStableFunc(list, func(a, b held) int { return cmp.Compare(a.expires, b.expires) })
	return list[:min(len(list), expireBound)], nil
}

func (t *transaction) expireOne(h *held) (queue.Expired, error) {
	j, err := t.job(queue.Ref{ID: h.job})
	if err != nil {
		return queue.Expired{}, err
	}
	standing, err := t.standing(j, h)
	if err != nil {
		return queue.Expired{}, err
	}
	d := queue.DecideExpiry(standing)
	detail := joined(fmt.Sprintf("nobody settled the run: the lease of %v that %s had on it ended", h.length, h.workerName), d.Note)
	about := entry{worker: h.worker, attempt: j.attempt, detail: detail}
	if err := t.decided(j, d, &queue.Outcome{}, detail); err != nil {
		return queue.Expired{}, err
	}
	if err := t.release(h); err != nil {
		return queue.Expired{}, err
	}
	if err := t.move(j, d.Event, states.code(d.To), j.fence, about); err != nil {
		return queue.Expired{}, err
	}
	e := queue.Expired{ID: j.id, Key: j.key, Fence: h.fence, Worker: h.workerName, To: d.To}
	e.Kind, err = t.kindName(j.kind)
	return e, err
}

// tell logs what a claim expired on its way: its answer does not name it.
func (q *Queue) tell(expired []queue.Expired) {
	for _, e := range expired {
		q.logger.Warn("lease expired: nobody recorded what the run was", "job", e.ID, "kind", e.Kind,
			"key", strconv.QuoteToGraphic(e.Key), "fence", e.Fence, "worker", strconv.QuoteToGraphic(e.Worker), "state", e.To)
	}
}
