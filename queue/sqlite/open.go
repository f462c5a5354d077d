package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/b1213022/bailiff/queue"
)

// Open opens a database that Create made; it makes none. A missing file wraps
// queue.ErrNotFound; a file that is foreign, damaged or of a newer bailiff wraps
// queue.ErrNotOurs and is not touched. Close it when done.
func Open(ctx context.Context, path string, opt Options) (*Queue, error) {
	q, err := open(ctx, path, opt.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return q, nil
}

func open(ctx context.Context, path string, opt Options) (*Queue, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	var c *conn
	var f *files
	release, err := opened.claim(path, func() (err error) {
		if err := takePlace(path, opt); err != nil {
			return err
		}
		if err := mayWrite(path, filepath.Dir(path)); err != nil {
			return err
		}
		if err := refuseSnapshot(path); err != nil {
			return err
		}
		if c, err = openWithin(path, opt); err != nil {
			return err
		}
		if f, err = filesOf(path); err != nil {
			return errors.Join(err, c.close())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	q := &Queue{
		path: path, files: f, release: release, clock: opt.Clock, boot: opt.Clock.Boot(), random: opt.Random, lockWait: opt.LockWait, logger: opt.Logger,
		closing: make(chan struct{}),
	}
	q.pool = q.newPool()
	if q.boot == "" {
		// A clock that nobody else can read the same way: its leases are foreign
		// to every other process.
		token := queue.NewToken()
		q.boot = "unknown-" + token.Text()
	}
	err = q.upgrade(ctx, c, opt.Migrate)
	if err == nil {
		err = q.identify(c)
	}
	if err == nil {
		err = q.files.check()
	}
	if err != nil {
		err = errors.Join(err, q.part(c))
		if q.leftOpen.Load() == nil {
			release()
		}
		return nil, err
	}
	q.close = sync.OnceValue(q.shut)
	var turn turnstile
	if opt.TakeTurns {
		turn = openTurnstile(path)
	}
	q.writer = newWriter(q, c, turn)
	q.watchers.Go(q.patrol)
	return q, nil
}

// resolve is the file's one true name: its side files are named after it.
func resolve(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("no such file: %w", queue.ErrNotFound)
	}
	return real, err
}

// openWithin is openWriter that gives the reserve up where the disk is too full to
// open the database.
func openWithin(path string, opt Options) (*conn, error) {
	c, err := openWriter(path)
	r := reserve{path: path}
	r.state = r.look()
	if !r.helps(err) {
		return c, err
	}
	if err := r.give(); err != nil {
		return nil, err
	}
	opt.Logger.Warn("the disk is full: the reserve was given up to open the database", "database", path)
	return openWriter(path)
}

// openWriter makes the connection that writes, and checks that the settings of
// dsn took: a setting that is misspelt is ignored without an error.
func openWriter(path string) (*conn, error) {
	c, err := openConn(dsn(path, writing))
	if err != nil {
		return nil, err
	}
	if err := setUp(c); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func setUp(c *conn) error {
	if _, err := schemaVersion(c); err != nil {
		return err
	}
	// The WAL is cut to this once it is empty; waiting for locks is the writer's
	// own from here on (writer.go), and so is copying the WAL (wal.go).
	if err := c.script(`PRAGMA journal_size_limit = 67108864; PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0`); err != nil {
		return err
	}
	if err := writable(c); err != nil {
		return err
	}
	for _, setting := range []struct{ name, want string }{
		{"journal_mode", "wal"}, {"synchronous", "2"}, {"foreign_keys", "1"}, {"auto_vacuum", "2"},
	} {
		var got string
		if _, err := c.one(context.Background(), `PRAGMA `+setting.name, nil, func(r row) error {
			got = fmt.Sprint(r[0])
			return nil
		}); err != nil {
			return err
		}
		if got != setting.want {
			return refuse("%s is %s, not %s: another program changed it", setting.name, got, setting.want)
		}
	}
	return nil
}

// writable makes a write that changes nothing. Where SQLite may not open a file for
// writing, if only for the want of a descriptor at that moment, it opens it for
// reading, and says so no earlier. Any other error comes again.
func writable(c *conn) error {
	_, err := c.exec(`DELETE FROM commit_mark WHERE slot < 0`)
	if readOnly(err) {
		return fmt.Errorf("it could be opened for reading alone: %w", err)
	}
	return nil
}

// identify reads which queue the file holds, and that the tables are there.
func (q *Queue) identify(c *conn) error {
	found, err := c.one(context.Background(), `SELECT uid, fence_floor, snapshot_at FROM queue`, nil, func(r row) error {
		copy(q.uid[:], r.blob(0))
		q.fenceFloor = r.int(1)
		if !r.null(2) {
			return isSnapshot(q.path, atMS(r, 2))
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("it holds no queue: %w", queue.ErrNotOurs)
	}
	return err
}
