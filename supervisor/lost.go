package supervisor

import (
	"errors"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// This file is the end of a queue under a supervisor that works on it. A database
// that was moved away may be opened elsewhere, where every lease will expire; one
// that a newer program has changed cannot be written any more; after a disk that
// did not confirm a write nobody knows what is recorded. In each case nothing that
// runs here can be recorded or keep its lease, so it is killed at once, as at a
// lost lease, and nothing else is asked of the queue.

// QueueLost is what Run and RunOne end with when the queue cannot be used any more.
// It wraps what the queue answered: queue.ErrMoved, queue.ErrNotOurs or
// queue.ErrClosed.
type QueueLost struct {
	Err     error
	Stopped []RunStatus // by id: what ran and was killed. Their leases stand until they end by themselves
}

func (e *QueueLost) Error() string {
	return fmt.Sprintf("%v; %d running jobs were stopped at once and not recorded", e.Err, len(e.Stopped))
}

// Unwrap is what the queue answered.
func (e *QueueLost) Unwrap() error { return e.Err }

// final reports whether an answer of the queue is its last word.
func final(err error) bool {
	return errors.Is(err, queue.ErrClosed) || errors.Is(err, queue.ErrNotOurs)
}

// loseQueue kills everything that runs, once the queue has given its last word.
func (s *Supervisor) loseQueue(err error) {
	lost := &QueueLost{Err: err, Stopped: s.runStatuses()}
	s.mu.Lock()
	first := s.lost == nil
	if first {
		s.lost = lost
	}
	s.mu.Unlock()
	if !first {
		return
	}
	s.crew.keeper.loseAll("the queue cannot be used any more")
	s.stops.reach(stageAbort)
	s.log.Error("the queue cannot be used any more: what runs is killed and not recorded", "running", len(lost.Stopped), "error", err)
	s.crew.touched()
}

// lostQueue is what was lost, as an error; nil while nothing is.
func (s *Supervisor) lostQueue() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil {
		return nil
	}
	return s.lost
}

// loseAll loses every lease that is held, and each that will be.
func (k *keeper) loseAll(why string) {
	var kills []func()
	k.mu.Lock()
	k.gone = why
	for l := range k.held {
		kills = append(kills, k.loseLocked(l, why))
	}
	k.mu.Unlock()
	for _, kill := range kills {
		kill()
	}
}

// holdsNothing reports whether loseAll has been called.
func (k *keeper) holdsNothing() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.gone != ""
}
