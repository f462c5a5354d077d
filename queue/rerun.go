package queue

import "fmt"

// Rerun asks for a new job like a finished one: of the same kind, with its payload,
// meta, priority and named attempt limit, under a key of its own. The same again is
// a replay, as for an enqueue, whatever became of the old job since.
type Rerun struct {
	Key      string // of the new job
	Reviewed bool   // as in Requeue, about the job that is run again
}

// Check answers nil if a job can be run again under r's key.
func (r *Rerun) Check() error { return ValidKey(r.Key) }

// CanRerun answers nil if a new job can be made from one in state s: a finished
// one. Else it wraps ErrConflict and says why, or ErrInvalid for no state.
func CanRerun(s State) error {
	why := "somebody works on it"
	switch {
	case s.Finished():
		return nil
	case s == StateScheduled || s == StateReady:
		why = "it waits to run already"
	case s == StateQuarantined:
		why = "nobody knows what it did: a person decides first"
	case s != StateLeased:
		return s.check()
	}
	return fmt.Errorf("rerun a %s job: %s%s: %w", s, why, instead(s), ErrConflict)
}
