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
	release, err := opened.claim(path, func() (err error) {
		if err := mayWrite(path, filepath.Dir(path)); err != nil {
			return err
		}
		c, err = openWriter(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	q := &Queue{
		path: path, release: release, clock: opt.Clock, boot: opt.Clock.Boot(), random: opt.Random, lockWait: opt.LockWait, logger: opt.Logger,
		pool: newPool(path), closing: make(chan struct{}),
	}
	if q.boot == "" {
		// A clock that nobody else can read the same way: its leases are foreign
		// to every other process.
		token := queue.NewToken()
		q.boot = "unknown-" + token.Text()
	}
	if err := q.identify(c); err != nil {
		err = errors.Join(err, c.close())
		release()
		return nil, err
	}
	q.close = sync.OnceValue(q.shut)
	var turn turnstile
	if opt.TakeTurns {
		turn = openTurnstile(path)
	}
	q.writer = newWriter(q, c, turn)
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
			return fmt.Errorf("%s is %s, not %s: %w", setting.name, got, setting.want, queue.ErrNotOurs)
		}
	}
	return nil
}

// identify reads which queue the file holds, and that the tables are there.
func (q *Queue) identify(c *conn) error {
	found, err := c.one(context.Background(), `SELECT uid, fence_floor FROM queue`, nil, func(r row) error {
		copy(q.uid[:], r.blob(0))
		q.fenceFloor = r.int(1)
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("it holds no queue: %w", queue.ErrNotOurs)
	}
	return err
}
