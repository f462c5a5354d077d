package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// sideFiles are what SQLite keeps beside a database.
var sideFiles = []string{"-wal", "-shm", "-journal"}

// Create makes a new database, readable and writable by its owner alone, and
// closes it again. Nothing is replaced: a file or a stray side file in the way
// wraps queue.ErrConflict, a folder on a network file system queue.ErrNotOurs. The
// folder must exist. When it answers nil, file and name are on the disk; after an
// error nothing of it is left.
func Create(ctx context.Context, path string, opt Options) error {
	if err := create(ctx, path, opt.withDefaults()); err != nil {
		return fmt.Errorf("create database %s: %w", path, err)
	}
	return nil
}

func create(ctx context.Context, path string, opt Options) (err error) {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := checkFileSystem(folder, opt.NetworkFS); err != nil {
		return err
	}
	path = filepath.Join(folder, filepath.Base(path))
	// Held until its last descriptor is closed here: nobody in this process has the
	// file open meanwhile, whose locks that would drop (header.go).
	opened.mu.Lock()
	defer opened.mu.Unlock()
	if err := inTheWay(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is in the way: %w", path, queue.ErrConflict)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			for _, name := range append([]string{""}, sideFiles...) {
				_ = os.Remove(path + name)
			}
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	// Before the file can be taken for ours: what another process then commits to
	// it must not vanish with its name.
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return fill(path, opt)
}

// fill writes the schema and the queue's identity into an empty file, and brings
// it to the disk.
func fill(path string, opt Options) error {
	c, err := openConn(dsn(path, creating))
	if err != nil {
		return err
	}
	if err := migrate(context.Background(), c, func(int) error { return nil }); err != nil {
		return errors.Join(err, c.close())
	}
	var uid [16]byte
	_, _ = rand.Read(uid[:]) // crypto/rand.Read never fails
	if _, err := c.exec(`INSERT INTO queue (one, uid, fence_floor, created_at) VALUES (1, ?, 0, ?)`,
		uid[:], opt.Clock.Now().Truncate(time.Millisecond).UnixMilli()); err != nil {
		return errors.Join(err, c.close())
	}
	// Last: a file that was left half made is never taken for a database of ours.
	if err := c.script(fmt.Sprintf(`PRAGMA application_id = %d`, applicationID)); err != nil {
		return errors.Join(err, c.close())
	}
	if err := emptyWAL(c); err != nil {
		return errors.Join(err, c.close())
	}
	return c.close() // which removes the WAL
}

// emptyWAL copies the WAL into the file and syncs it. Closing would do so too, but
// not say whether it failed (https://www.sqlite.org/pragma.html#pragma_wal_checkpoint).
func emptyWAL(c *conn) error {
	blocked, err := c.number(context.Background(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	if err == nil && blocked != 0 {
		err = fmt.Errorf("another process has it open already: %w", queue.ErrBusy)
	}
	return err
}

// syncFolder brings the names in a folder to the disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
