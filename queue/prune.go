package queue

import (
	"cmp"
	"fmt"
	"time"
)

// DefaultPrune is how many jobs one Prune looks at when not told.
const DefaultPrune = 200

// Retention is for how long finished jobs are kept, counted from their end. 0 is
// for ever.
type Retention struct {
	Done, Dead, Cancelled time.Duration
}

// Pruning asks for finished jobs to be forgotten, the oldest end first, but for
// what an enqueue of the same key has to know: kind, key, digest of the payload,
// named attempt limit, id, last state and time of its end. Quarantined jobs, and
// jobs with an open effect, are never pruned.
type Pruning struct {
	Keep   Retention
	Kind   string // only of this kind; empty: of all
	Limit  int    // jobs looked at in this call; 0: DefaultPrune; at most MaxBatch
	DryRun bool   // count what could be pruned, all of it, and change nothing
}

// Pruned answers a Pruning.
type Pruned struct {
	Jobs  int64 // forgotten; in a dry run those that could be
	More  bool  // the call stopped at a bound, or there is space left to give back: call again
	Freed int64 // bytes given back to the file system, once the write-ahead log is copied
}

// For is how long a job is kept that ended in state s; false: for ever.
func (r Retention) For(s State) (time.Duration, bool) {
	keep := map[State]time.Duration{StateDone: r.Done, StateDead: r.Dead, StateCancelled: r.Cancelled}[s]
	return keep, keep > 0
}

// Check answers nil if jobs can be pruned by p.
func (p *Pruning) Check() error {
	if p.Kind != "" {
		if err := ValidKind(p.Kind); err != nil {
			return err
		}
	}
	return cmp.Or(
		validRetention(StateDone, p.Keep.Done),
		validRetention(StateDead, p.Keep.Dead),
		validRetention(StateCancelled, p.Keep.Cancelled),
		inRange("limit", p.Limit, 0, MaxBatch),
	)
}

func validRetention(s State, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("retention of %s jobs %v: 0s or more: %w", s, d, ErrInvalid)
	}
	return nil
}
