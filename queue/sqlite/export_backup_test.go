package sqlite

import "context"

// RenameNoReplace is renameNoReplace.
func RenameNoReplace(from, to string) error { return renameNoReplace(from, to) }

// LinkAndUnlink is linkAndUnlink.
func LinkAndUnlink(from, to string, remove func(string) error) error {
	return linkAndUnlink(from, to, remove)
}

// GiveName makes an empty draft, gives it its name, and reports whether a queue of this
// process could have opened it then.
func GiveName(path string) (free bool, err error) {
	d, err := makeDraft(path, forBackup)
	if err != nil {
		return false, err
	}
	return free, d.give(func(from, to string) error {
		if free = opened.mu.TryLock(); free {
			opened.mu.Unlock()
		}
		return rename(from, to)
	})
}

// Ending is closed when the queue refuses, or with ctx.
func (q *Queue) Ending(ctx context.Context) <-chan struct{} {
	ending := make(chan struct{})
	go func() {
		defer close(ending)
		select {
		case <-q.closing:
		case <-ctx.Done():
		}
	}()
	return ending
}

// QuarantineHistory, QuarantineJobs and RaiseJobs are statements whose words are
// numbers.
const (
	QuarantineHistory = quarantineHistory
	QuarantineJobs    = quarantineJobs
	RaiseJobs         = raiseJobs
)

// TellWriter is tellWriter.
func (q *Queue) TellWriter(err error) { q.tellWriter(err) }
