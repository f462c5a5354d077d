package sqlite

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/b1213022/bailiff/queue"
)

// A file that a backup or a restore makes appears under its name whole or not at
// all. It is written as a draft beside it, .NAME.bailiff-partial-1234abcd or
// .NAME.bailiff-restore-1234abcd, brought to the disk, and only then given the name,
// which never replaces anything.
//
// Whoever writes a draft holds a flock(2) on it. A draft without one was left by a
// process that died, and the next backup or restore in that folder removes it
// (strays.go). On a network file system nobody can hold one: there it stays.

// What a draft is for, as its name tells.
const (
	forBackup  = "bailiff-partial"
	forRestore = "bailiff-restore"
)

// reserveSuffix names the file beside a database that holds room for it.
const reserveSuffix = "-reserve"

type draft struct {
	path string   // the name it is to have, absolute
	temp string   // the name it has
	file *os.File // holds the flock; what is written by others is synced here
}

// newDraft makes an empty draft that its owner alone may read and write. Anything
// of that name, or beside it, wraps queue.ErrConflict; need is how many bytes it
// will have. As much as a reserve needs must be left beside them, or the draft would
// take what a queue on that file system has given up for its running jobs.
func newDraft(path, what string, need int64) (*draft, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(path)
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s: %w", folder, err)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is no folder: %w", folder, syscall.ENOTDIR)
	}
	if err := inTheWay(path); err != nil {
		return nil, err
	}
	if err := mayWrite(folder); err != nil {
		return nil, err
	}
	removeStrays(folder)
	if err := hasRoom(folder, need, reserveRoom); err != nil {
		return nil, err
	}
	return makeDraft(path, what)
}

// inTheWay refuses a name for a database that is taken, if only by a link that leads
// nowhere or by what another database left beside it, or that means what lies beside
// another database.
func inTheWay(path string) error {
	for _, side := range append([]string{reserveSuffix}, sideFiles...) {
		if of, is := strings.CutSuffix(path, side); is {
			if _, err := os.Lstat(of); err == nil {
				return fmt.Errorf("%s would be taken for the %s of %s: choose another name: %w", path, side, of, queue.ErrConflict)
			}
		}
	}
	for _, side := range append([]string{"", reserveSuffix}, sideFiles...) {
		switch _, err := os.Lstat(path + side); {
		case err == nil && side == "":
			return fmt.Errorf("%s is in the way: %w", path, queue.ErrConflict)
		case err == nil:
			return fmt.Errorf("%s is in the way, left behind by another database: %w", path+side, queue.ErrConflict)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// hasRoom refuses a file of so many bytes where it does not fit with so many to spare.
func hasRoom(folder string, need, spare int64) error {
	free, err := freeIn(folder)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("free space of %s: %w", folder, err)
	}
	if free < need+spare {
		return fmt.Errorf("it needs %s, and %s are to be left; %s has %s free: %w", inBytes(need), inBytes(spare), folder, inBytes(free), queue.ErrFull)
	}
	return nil
}

// inBytes is a size for people.
func inBytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

func makeDraft(path, what string) (*draft, error) {
	var random [4]byte
	for {
		_, _ = rand.Read(random[:]) // never fails
		d := &draft{path: path, temp: filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%s-%x", filepath.Base(path), what, random))}
		var err error
		if d.file, err = os.OpenFile(d.temp, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
			return nil, noSpace(err)
		}
		if err = holdDraft(d.file); err == nil && d.named() {
			return d, nil
		}
		// Somebody took it for left behind before it was held: another one.
		d.drop()
	}
}

// named reports whether the draft still has its name.
func (d *draft) named() bool {
	is, err := os.Lstat(d.temp)
	if err != nil {
		return false
	}
	was, err := d.file.Stat()
	return err == nil && os.SameFile(is, was)
}

// drop removes what there is of a draft. Nobody else may have it open any more.
func (d *draft) drop() {
	for _, side := range append([]string{""}, sideFiles...) {
		_ = os.Remove(d.temp + side)
	}
	_ = d.file.Close()
}

// place brings the draft to the disk and gives it its name. After an error it is to
// be dropped; that it is there all the same the error says.
func (d *draft) place() error {
	if err := d.file.Sync(); err != nil {
		return fmt.Errorf("the disk did not confirm the file: %w", noSpace(err))
	}
	if err := inTheWay(d.path); err != nil {
		return err
	}
	for _, side := range sideFiles {
		if _, err := os.Lstat(d.temp + side); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s was left beside it: %w", d.temp+side, cmp.Or(err, fs.ErrExist))
		}
	}
	if err := d.give(rename); err != nil {
		return err
	}
	if err := syncFolder(filepath.Dir(d.path)); err != nil {
		return fmt.Errorf("it is there, but the disk did not confirm its name: %w", err)
	}
	return nil
}

// give gives the draft its name and closes it, with nothing of this process coming
// between: a queue that had opened it by its name would lose its locks (header.go).
func (d *draft) give(rename func(from, to string) error) error {
	opened.mu.Lock()
	defer opened.mu.Unlock()
	err := rename(d.temp, d.path)
	_ = d.file.Close() // it is synced
	return err
}

// rename gives a file another name in its folder, which nothing has. Where the
// system has no way to rename without replacing, the file has both names for a
// moment, and after a crash in that moment until it is next opened.
func rename(from, to string) error {
	err := renameNoReplace(from, to)
	if errors.Is(err, errors.ErrUnsupported) {
		err = linkAndUnlink(from, to, os.Remove)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is in the way: somebody made it meanwhile: %w", to, queue.ErrConflict)
	}
	return err
}

func linkAndUnlink(from, to string, remove func(string) error) error {
	switch err := os.Link(from, to); {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("the file system of %s can give a file a name in no way that is sure to replace nothing: choose a folder elsewhere: %w", to, err)
	case err != nil:
		return err
	}
	if err := remove(from); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("it is there, but has the name %s as well: %w", from, err)
	}
	return nil
}

// noSpace gives an error of the system about a full disk its sentinel.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", queue.ErrFull, err)
	}
	return err
}
