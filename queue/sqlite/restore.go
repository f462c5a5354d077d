package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue"
)

// Restore makes a queue in a new file at path of a snapshot, whose bytes stay as
// they are. A snapshot may be older than something that did happen: so no job runs
// by itself in the new queue, no token of the old one is good for anything, and
// every number that it gives out is one that the old one never gave out; what
// exactly changes is in restored.go. progress, if not nil, is told the bytes copied
// and how many there are.
//
// A database's own file is no snapshot, nor is a copy of it: ErrUnsealed; one in use
// wraps queue.ErrConflict. Both what is foreign or of a newer bailiff and a snapshot
// that is damaged, or was changed since it was made, wrap queue.ErrNotOurs. A backup
// of an older schema, which carries no seal, is brought up to date in the copy.
//
// Nothing is replaced: a file at path, or one beside it that belongs to a database
// of that name, wraps queue.ErrConflict. The folder must exist. Too little room
// wraps queue.ErrFull. When it answers nil, the new queue is on the disk; after an
// error, and when ctx ends, nothing of it is left, unless the error says that it is
// there.
func Restore(ctx context.Context, snapshot, path string, opt Options, progress func(done, total int64)) (queue.Restored, error) {
	r, err := restore(ctx, snapshot, path, opt.withDefaults(), progress)
	if err != nil {
		if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err())) {
			err = context.Cause(ctx)
		}
		return queue.Restored{}, fmt.Errorf("restore %s to %s: %w", snapshot, path, err)
	}
	return r, nil
}

func restore(ctx context.Context, snapshot, path string, opt Options, progress func(done, total int64)) (r queue.Restored, err error) {
	began := time.Now()
	if err := context.Cause(ctx); err != nil {
		return r, err
	}
	if r.Snapshot, err = resolve(snapshot); err != nil {
		return r, err
	}
	release, err := opened.lend(r.Snapshot)
	if err != nil {
		return r, err
	}
	defer release()
	from, size, err := openSnapshot(r.Snapshot)
	if err != nil {
		return r, err
	}
	defer func() { _ = from.Close() }()
	d, err := newDraft(path, forRestore, size)
	if err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			d.drop()
		}
	}()
	r.Path = d.path
	if err = checkFileSystem(filepath.Dir(d.path), opt.NetworkFS); err != nil {
		return r, err
	}
	if r.SHA256, err = copySnapshot(ctx, from, d, size, progress); err != nil {
		return r, err
	}
	if err = makeQueue(ctx, d, opt, &r); err != nil {
		return r, err
	}
	if err = d.place(); err != nil {
		return r, err
	}
	r.Took = time.Since(began)
	return r, nil
}

var errInUse = fmt.Errorf("it is no snapshot but a database in use: bailiff backup makes a snapshot of it: %w", queue.ErrConflict)

// openSnapshot opens a file to be copied that nobody writes. The caller has it lent.
func openSnapshot(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	if err := unused(f); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// unused refuses a file that somebody may write: one that another process has open
// with SQLite, or beside which there is a log or a journal with something in it.
func unused(f *os.File) error {
	for _, side := range []string{"-wal", "-journal"} {
		switch info, err := os.Lstat(f.Name() + side); {
		case err == nil && info.Size() > 0:
			return fmt.Errorf("%s is beside it: %w", filepath.Base(f.Name()+side), errInUse)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	// Where locks cannot be asked for, a copy of a file that changes is still
	// refused: copySnapshot looks again.
	probe := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &probe); err == nil && probe.Type != unix.F_UNLCK {
		return fmt.Errorf("process %d has it open: %w", probe.Pid, errInUse)
	}
	return nil
}

// copySnapshot copies the bytes and answers their SHA-256 in hex.
func copySnapshot(ctx context.Context, from *os.File, d *draft, size int64, progress func(done, total int64)) (string, error) {
	before, err := from.Stat()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	buffer := make([]byte, stepPages*4096)
	for done := int64(0); ; {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		n, err := from.Read(buffer)
		h.Write(buffer[:n])
		if _, err := d.file.Write(buffer[:n]); err != nil {
			return "", noSpace(err)
		}
		done += int64(n)
		if progress != nil {
			progress(done, size)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	after, err := from.Stat()
	if err == nil && (after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime())) {
		err = fmt.Errorf("it changed while it was copied: %w", errInUse)
	}
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, unused(from))
}
