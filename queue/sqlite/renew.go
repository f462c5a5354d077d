package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// Renew keeps leases, all in one write, each with its own answer at its own
// place. A lease ends its length from now, or when it would have ended before if
// that is later. Err is queue.ErrLeaseLost where no live lease has the token: the
// holder must stop working. With an error of the whole, nothing was renewed: such
// as queue.ErrInvalid for more than queue.MaxRenewals.
func (q *Queue) Renew(ctx context.Context, list []queue.Renewal) ([]queue.Renewed, error) {
	if len(list) > queue.MaxRenewals {
		return nil, fmt.Errorf("renew: %d leases, at most %d at a time: %w", len(list), queue.MaxRenewals, queue.ErrInvalid)
	}
	list = slices.Clone(list) // the caller may leave before it is read
	answers := make([]queue.Renewed, len(list))
	some := false
	for i := range list {
		if answers[i].Err = list[i].Check(); answers[i].Err != nil {
			answers[i].Err = fmt.Errorf("renew: %w", answers[i].Err)
			continue
		}
		some = true
	}
	if !some {
		return answers, nil
	}
	err := q.write(ctx, "renew", &request{essential: true, first: true, weight: len(list), run: func(t *transaction) error {
		for i := range list {
			if errors.Is(answers[i].Err, queue.ErrInvalid) {
				continue
			}
			a, err := t.renew(&list[i])
			if fromSQL(err) {
				return err
			}
			if err != nil {
				err = fmt.Errorf("renew job %d: %w", list[i].ID, err)
			}
			a.Err = err
			answers[i] = a
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

func (t *transaction) renew(r *queue.Renewal) (queue.Renewed, error) {
	h, found, err := t.leaseOf(r.ID)
	if err != nil {
		return queue.Renewed{}, err
	}
	if !found {
		return queue.Renewed{}, fmt.Errorf("no lease stands on it: %w", queue.ErrLeaseLost)
	}
	if err := t.live(&h, r.Token); err != nil {
		return queue.Renewed{}, err
	}
	boot, err := t.boot()
	if err != nil {
		return queue.Renewed{}, err
	}
	deadline := t.mono + r.Length
	if h.boot == boot && h.deadline >= deadline {
		deadline = h.deadline // never shorter
	} else if err := t.extend(&h, boot, r.Length, deadline); err != nil {
		return queue.Renewed{}, err
	}
	marked, err := t.number(`SELECT marked FROM jobs WHERE id = ?`, r.ID)
	return queue.Renewed{Deadline: deadline, CancelRequested: marked != 0}, err
}

// extend moves the lease's deadline. The guard is repeated where it counts.
func (t *transaction) extend(h *held, boot int64, length, deadline time.Duration) error {
	n, err := t.exec(`UPDATE leases SET boot_id = ?, length = ?, deadline_mono = ?, expires_mono = ?
		WHERE job_id = ? AND fence = ? AND token = ? AND (boot_id <> ? OR deadline_mono > ?)`,
		boot, int64(length), int64(deadline), int64(deadline+queue.Margin(length)),
		h.job, h.fence, h.token, boot, int64(t.mono))
	if err == nil && n != 1 {
		err = fmt.Errorf("its lease is over: %w", queue.ErrLeaseLost)
	}
	return err
}
