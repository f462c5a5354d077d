package queue

import "fmt"

// PrunedError is why a job is not found: it was pruned. It wraps ErrNotFound. Of the
// job only id, kind, key, state and finish time are left.
type PrunedError struct {
	Job Job
}

// Error says what the job was, in local time.
func (e *PrunedError) Error() string {
	j := &e.Job
	return fmt.Sprintf("%s/%s was #%d: %s %s, pruned since; its key stays taken",
		j.Kind, j.Key, j.ID, j.State, j.FinishedAt.Local().Format("2006-01-02 15:04:05 -07:00"))
}

// Unwrap is ErrNotFound.
func (e *PrunedError) Unwrap() error { return ErrNotFound }
