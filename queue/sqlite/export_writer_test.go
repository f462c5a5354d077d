package sqlite

import (
	"context"
	"time"

	"github.com/mattn/go-sqlite3"
)

// Failure is an error of SQLite as a request or a COMMIT meets it.
func Failure(code sqlite3.ErrNo, extended sqlite3.ErrNoExtended) error {
	return explain(sqlite3.Error{Code: code, ExtendedCode: extended})
}

// Run makes a request of f, which is called on the writer's goroutine.
func (q *Queue) Run(ctx context.Context, first bool, f func() error) error {
	return q.write(ctx, "test", &request{first: first, run: func(*transaction) error { return f() }})
}

// OnCommit replaces the COMMITs to come, numbered from 1. f gets what commits for
// real and what runs statements on the writer's connection instead.
func (q *Queue) OnCommit(f func(n int, commit func() error, script func(string) error) error) {
	n := 0
	_ = q.Run(context.Background(), false, func() error {
		real := q.writer.commit
		q.writer.commit = func(c *conn) error {
			n++
			if n == 1 { // of the request that sets this trap
				return real(c)
			}
			return f(n-1, func() error { return real(c) }, c.script)
		}
		return nil
	})
}

// FailCheckpoint lets every checkpoint fail.
func (q *Queue) FailCheckpoint(err error) {
	_ = q.Run(context.Background(), false, func() error {
		q.writer.checkpoint = func(*conn, string) (bool, int64, int64, error) { return false, 0, 0, err }
		return nil
	})
}

// BoundWAL sets at how many frames the log is cut.
func (q *Queue) BoundWAL(frames int64) {
	_ = q.Run(context.Background(), false, func() error {
		q.writer.wal.bound = frames
		return nil
	})
}

// PauseAfter is pauseAfter.
func PauseAfter(held time.Duration, renewals bool) time.Duration { return pauseAfter(held, renewals) }
