//go:build !linux

package sqlite

import (
	"errors"
	"os"
)

func renameNoReplace(from, to string) error { return errors.ErrUnsupported }

// Elsewhere flock(2) conflicts with the locks that SQLite takes on the same file:
// nobody is seen to write a draft, and so none is taken for left behind.

func holdDraft(*os.File) error { return nil }

func draftHeld(*os.File) bool { return true }
