package sqlite

import (
	"context"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// countEnough is where Agenda ends counting what is due and not yet promoted:
// nobody hands out more before looking again.
const countEnough = 1000

// Agenda tells a supervisor what there is to do now and when to look again.
// Paused kinds have nothing to do. Its cost depends on the number of kinds, not on
// how many jobs wait or fell due: of what fell due and no claim has promoted yet,
// Ready counts at most countEnough of a kind. It has a connection of its own, so that no other reads
// keep it waiting.
func (q *Queue) Agenda(ctx context.Context, kinds []string) (queue.Agenda, error) {
	a := queue.Agenda{Ready: map[string]int64{}}
	if kinds == nil {
		kinds = []string{}
	}
	err := q.readFirst(ctx, "agenda", func(s *snapshot) error {
		list, err := s.kinds(kinds)
		if err != nil {
			return err
		}
		for _, k := range list {
			if k.paused {
				continue
			}
			if err := s.outlook(&a, &k); err != nil {
				return err
			}
		}
		if err := s.nextExpiry(&a); err != nil {
			return err
		}
		return s.cancelled(&a)
	})
	return a, err
}

// outlook adds one kind to the agenda.
func (s *snapshot) outlook(a *queue.Agenda, k *kind) error {
	waiting, err := s.number(`SELECT n FROM counts WHERE kind_id = ? AND state = 2`, k.id)
	if err != nil {
		return err
	}
	due, err := s.countDueUpTo(k.id, countEnough)
	if err != nil {
		return err
	}
	if waiting+due > 0 {
		a.Ready[k.name] = waiting + due
	}
	at, found, err := s.nextDue(k.id)
	if next := time.UnixMilli(at).UTC(); found && (a.NextDue.IsZero() || next.Before(a.NextDue)) {
		a.NextDue = next
	}
	return err
}

// selectMarked finds the leased jobs that somebody asked to cancel.
const selectMarked = `SELECT id FROM jobs WHERE marked = 1 AND state = 3 AND id > 0 ORDER BY id LIMIT ?`

// cancelled tells which leased jobs their holders are to stop.
func (s *snapshot) cancelled(a *queue.Agenda) error {
	return s.each(selectMarked, []any{countEnough}, func(r row) error {
		a.Cancelled = append(a.Cancelled, r.int(0))
		return nil
	})
}

// nextExpiry tells when the first lease may be expired, be it of this boot or of
// another one.
func (s *snapshot) nextExpiry(a *queue.Agenda) error {
	sooner := func(at time.Duration) {
		if !a.HasNextExpiry || at < a.NextExpiry {
			a.NextExpiry, a.HasNextExpiry = at, true
		}
	}
	boot, err := s.bootID()
	if err != nil {
		return err
	}
	if _, err := s.one(`SELECT expires_mono FROM leases WHERE boot_id = ? ORDER BY expires_mono LIMIT 1`, []any{boot}, func(r row) error {
		sooner(time.Duration(r.int(0)))
		return nil
	}); err != nil {
		return err
	}
	others, err := s.strangers()
	for i := range others {
		sooner(others[i].expires)
	}
	return err
}
