package queue

import "errors"

// What an operation can be refused with. Engines wrap these with the act, the
// argument and the bound; callers look with errors.Is. Each has its own exit
// status on the command line.
var (
	// ErrInvalid: an argument is out of its bounds. Nothing changed.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: the key is taken by another payload or limit, or the job's
	// state refuses the event. Nothing changed.
	ErrConflict = errors.New("conflict")
	// ErrNotFound: no such job.
	ErrNotFound = errors.New("not found")
	// ErrLeaseLost: the token holds no live lease on the job. Nothing changed.
	ErrLeaseLost = errors.New("lease lost")
	// ErrNotOurs: the file is not a bailiff database, a newer one, or damaged.
	// It was not touched.
	ErrNotOurs = errors.New("not a database of ours")
	// ErrBusy: somebody else held the database for too long. Nothing changed.
	ErrBusy = errors.New("busy")
	// ErrClosed: the queue is closed or closing. Nothing changed.
	ErrClosed = errors.New("closed")
	// ErrFull: the disk is full. Nothing changed.
	ErrFull = errors.New("disk full")
	// ErrMoved: the open file, or one beside it, is no longer where it was opened:
	// moved, deleted or replaced. The queue is closed. It wraps ErrNotOurs.
	ErrMoved error = &special{"the database was moved, deleted or replaced while in use", ErrNotOurs}
	// ErrOlder: the database has the schema of an older bailiff, which the service
	// brings up to date. It wraps ErrNotOurs.
	ErrOlder error = &special{"an older schema", ErrNotOurs}
	// ErrDamaged: the file is a bailiff database that has lost its form. It wraps
	// ErrNotOurs.
	ErrDamaged error = &special{"the database is damaged; nothing was changed", ErrNotOurs}
	// ErrUnknown: it may or may not have been recorded. Ask again with the same
	// key or token: the answer will be the truth.
	ErrUnknown = errors.New("outcome unknown")
)

// special is a case of another error, in words of its own: those of the other would
// say what is not so.
type special struct {
	words string
	of    error
}

func (e *special) Error() string { return e.words }
func (e *special) Unwrap() error { return e.of }
