package sqlite

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames a file unless the new name is taken (renameat2(2)). It
// answers errors.ErrUnsupported where the kernel or the file system cannot.
func renameNoReplace(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		// EPERM: sandboxes answer so for calls they do not know. Another cause is
		// found by linking, too.
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "renameat2", Old: from, New: to, Err: err}
}

// holdDraft takes the lock that shows that a draft is being written. Where there
// are no such locks, every draft is taken for one: so on a network file system, which
// makes of it a lock on the bytes of the file, and SQLite's own would conflict with
// it (flock(2), "NFS details").
func holdDraft(f *os.File) error {
	if offLimits(f) {
		return nil
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return err
	}
	return nil
}

// draftHeld reports whether a draft may still be written by somebody; if not, the
// lock is f's until it is closed.
func draftHeld(f *os.File) bool {
	return offLimits(f) || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

// offLimits reports whether a file may lie where no draft is locked.
func offLimits(f *os.File) bool {
	name, err := networkOf(filepath.Dir(f.Name()))
	return err != nil || name != ""
}
