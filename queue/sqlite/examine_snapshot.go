package sqlite

import (
	"errors"
	"os"
)

// snapshot looks whether a snapshot can be restored. Where it lies does not matter,
// nor what else is there: nobody opens it as it is.
func (e *examiner) snapshot() {
	if !e.taken.IsZero() {
		e.fine("kind", "%s", ofSnapshot(e.Path, e.taken))
	}
	for _, side := range []string{"-wal", "-journal"} {
		if info, err := os.Lstat(e.Path + side); err == nil && info.Size() > 0 {
			e.wrong("side files", "look whence it comes: restore refuses the snapshot with it beside", "%s: a snapshot has none", e.Path+side)
		}
	}
	release, err := opened.lend(e.Path)
	if err != nil {
		e.failed("file", err)
		return
	}
	defer release()
	if e.c, err = openConn(dsn(e.Path, immutable)); err != nil {
		e.failed("file", err)
		return
	}
	if err := e.checkSeal(); err != nil {
		e.failed("seal", errors.Join(err, e.c.close()))
		return
	}
	e.fine("seal", "byte for byte as it was made")
	e.read()
}

// checkSeal compares the file with the sum that it carries.
func (e *examiner) checkSeal() error {
	f, err := os.Open(e.Path)
	if err != nil {
		return err
	}
	return errors.Join(checkSeal(e.ctx, e.c, f), f.Close())
}
