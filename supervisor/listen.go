package supervisor

import (
	"context"
	"slices"
)

// This file brings the wish to cancel a running job to its child within moments,
// however rarely its lease is renewed.

// listen looks at the queue after each commit where no dispatcher does: while the
// last jobs run, and beside a single one. It hears of jobs that somebody wants
// cancelled, and of the queue's end.
func (s *Supervisor) listen(ctx context.Context, changes <-chan struct{}) {
	for open := true; open; {
		select {
		case <-ctx.Done():
			return
		case _, open = <-changes:
		}
		agenda, err := s.opt.Queue.Agenda(ctx, nil)
		if final(err) {
			s.loseQueue(err)
			return
		}
		s.crew.keeper.hurry(agenda.Cancelled)
	}
}

// hurry renews at once if a lease of these jobs does not know yet that somebody
// wants its job cancelled: the mark comes with the answer.
func (k *keeper) hurry(cancelled []int64) {
	if len(cancelled) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for l := range k.held {
		if !l.isMarked && slices.Contains(cancelled, l.id) {
			signal(k.urgent)
			return
		}
	}
}
