package sqlite

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"github.com/b1213022/bailiff/queue"
)

// sqlError is an error of SQLite with the sentinel that callers look for. It
// stays distinguishable from a refusal by the rules: after it, the writer asks
// whether its transaction still stands.
type sqlError struct {
	cause    sqlite3.Error
	sentinel error // may be nil
}

func (e *sqlError) Error() string {
	text := fmt.Sprintf("sqlite: %v (code %d)", e.cause, e.cause.ExtendedCode)
	switch e.cause.SystemErrno {
	case syscall.EFBIG:
		text = "the file size limit of this process is reached (ulimit -f): " + text
	case syscall.EDQUOT:
		text = "the disk quota is used up: " + text
	}
	if e.sentinel == nil {
		return text
	}
	return fmt.Sprintf("%v: %s", e.sentinel, text)
}

func (e *sqlError) Unwrap() []error {
	if e.sentinel == nil {
		return []error{e.cause}
	}
	return []error{e.sentinel, e.cause}
}

// explain gives an error of the driver its sentinel. Anything that did not come
// from SQLite, such as the end of a reader's context, passes as it is.
func explain(err error) error {
	var e sqlite3.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	var known *sqlError
	if errors.As(err, &known) {
		return err
	}
	return &sqlError{cause: e, sentinel: sentinel(e)}
}

func sentinel(e sqlite3.Error) error {
	switch {
	case e.Code == sqlite3.ErrFull, e.SystemErrno == syscall.ENOSPC, e.SystemErrno == syscall.EDQUOT, e.SystemErrno == syscall.EFBIG:
		return queue.ErrFull
	case isBusy(e):
		return queue.ErrBusy
	case e.Code == sqlite3.ErrNotADB, e.Code == sqlite3.ErrCorrupt:
		return queue.ErrDamaged
	case e.Code == sqlite3.ErrInterrupt:
		return context.Canceled
	default:
		return nil
	}
}

// isBusy tells the errors that mean "somebody else has it just now": also
// SQLITE_PROTOCOL, a race for the WAL's locks that SQLite gave up
// (https://www.sqlite.org/rescode.html#protocol).
func isBusy(e sqlite3.Error) bool {
	return e.Code == sqlite3.ErrBusy || e.Code == sqlite3.ErrProtocol
}

// busy reports whether trying again may help.
func busy(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && isBusy(e)
}

// readOnly reports whether SQLite may not write to the file.
func readOnly(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrReadonly
}

// fromSQL reports whether err is an error of SQLite and not a refusal.
func fromSQL(err error) bool {
	var e *sqlError
	return errors.As(err, &e)
}

// syncFailed reports whether the disk did not confirm a write. Whether it is
// there then cannot be known, not even by reading: the kernel may show pages
// that it has dropped.
func syncFailed(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) &&
		(e.ExtendedCode == sqlite3.ErrIoErrFsync || e.ExtendedCode == sqlite3.ErrIoErrDirFsync)
}

// outOfSpace reports whether there was no room for a write: on the disk, of a
// quota or below a limit. When a COMMIT answers so, the last frame of the
// transaction, the one that makes it valid, was never whole in the WAL.
func outOfSpace(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) &&
		(e.Code == sqlite3.ErrFull || e.ExtendedCode == sqlite3.ErrIoErrWrite && sentinel(e) == queue.ErrFull)
}

// tooLarge reports whether a write failed at the limit that is set for the size of
// this process's files.
func tooLarge(err error) bool { return systemError(err) == syscall.EFBIG }

// overQuota reports whether a write failed at what a user may take of the disk.
func overQuota(err error) bool { return systemError(err) == syscall.EDQUOT }

// systemError is what the system had told SQLite.
func systemError(err error) syscall.Errno {
	var e sqlite3.Error
	_ = errors.As(err, &e)
	return e.SystemErrno
}
