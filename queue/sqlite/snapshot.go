package sqlite

import (
	"context"
	"errors"
	"time"
)

// view is a database at one moment, with the readings of the clock that belong
// to it: what a snapshot for reading and a transaction for writing share.
type view struct {
	conn     *conn
	ctx      context.Context // of the caller for a snapshot; never ends for a transaction
	q        *Queue
	now      time.Time     // cut to milliseconds
	mono     time.Duration // of Queue.clock
	thisBoot int64         // its number in the file; 0: not asked for yet, or not there
}

func (q *Queue) view(ctx context.Context, c *conn) view {
	return view{
		conn: c, ctx: ctx, q: q,
		now:  q.clock.Now().Truncate(time.Millisecond).UTC(),
		mono: q.clock.Mono(),
	}
}

// ms is the wall clock as the file holds it.
func (v *view) ms() int64 { return v.now.UnixMilli() }

// each is conn.each under the view's context.
func (v *view) each(query string, args []any, f func(row) error) error {
	return v.conn.each(v.ctx, query, args, f)
}

// one is conn.one under the view's context.
func (v *view) one(query string, args []any, f func(row) error) (bool, error) {
	return v.conn.one(v.ctx, query, args, f)
}

// number is conn.number under the view's context.
func (v *view) number(query string, args ...any) (int64, error) {
	return v.conn.number(v.ctx, query, args...)
}

// snapshot is a view for reading: what one method reads fits together.
type snapshot struct{ view }

func (q *Queue) snapshot(ctx context.Context, c *conn, f func(*snapshot) error) (err error) {
	if err := patiently(ctx, func() error { return beginReading(c) }); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.script(`ROLLBACK`)) }()
	s := snapshot{q.view(ctx, c)}
	return f(&s)
}

// beginReading takes a snapshot. BEGIN alone takes none: the first read does.
func beginReading(c *conn) error {
	if err := c.script(`BEGIN`); err != nil {
		return err
	}
	_, err := c.number(context.Background(), `SELECT one FROM queue`)
	if err != nil {
		return errors.Join(err, c.script(`ROLLBACK`))
	}
	return nil
}

// patiently tries again in short steps while somebody else has the database, such
// as one that recovers it, until ctx ends or it takes too long. SQLite's own
// waiting would not hear of ctx.
func patiently(ctx context.Context, try func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if !busy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockStep):
		}
	}
}

// atMS is a time that the file holds; zero for NULL.
func atMS(r row, i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMilli(r.int(i)).UTC()
}
