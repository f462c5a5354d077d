package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// A schema is brought up to date by a service that starts, and only while nobody
// else works: a program that knows the older schema alone could not keep its leases
// on the new one. A backup is made first. The write lock is held from the last look
// at the leases to the end, so nothing comes between, and of several that try at
// once one does it and the others find it done.
//
// The backup is NAME.v1-TIME.unfinished until the new schema stands, and then
// NAME.v1-TIME.backup, which nothing here removes. A try that fails removes its own. What
// a kill has left is removed by the next try, once that has made its own; or it gets its
// name at the next start, where the kill came after the end.

const (
	// watchMost bounds how long leases of other boots are watched.
	watchMost = time.Minute
	// watchStep is how often they are looked at.
	watchStep = 50 * time.Millisecond
)

// upgrade brings an older schema up to date, or refuses it.
func (q *Queue) upgrade(ctx context.Context, c *conn, migrating bool) error {
	version, err := schemaVersion(c)
	known := len(migrations())
	switch {
	case err != nil:
		return err
	case version == known:
		if migrating {
			q.keepBackups()
		}
		return nil
	case !migrating:
		return refuseAs(queue.ErrOlder, `its schema has version %d, this program needs %d; "bailiff run" brings it up to date and keeps a backup`,
			version, known)
	}
	return q.bringUp(ctx, c, version, (*conn).commit)
}

// bringUp brings the schema that c writes up to date from version.
func (q *Queue) bringUp(ctx context.Context, c *conn, version int, commit func(*conn) error) error {
	seen, err := q.watch(ctx, c)
	if err != nil {
		return err
	}
	known := len(migrations())
	began := time.Now()
	var saved string
	err = migrateBy(ctx, c, func(from int) (err error) {
		if err := q.idle(c, seen); err != nil {
			return err
		}
		saved, err = q.saveBefore(ctx, from)
		return err
	}, func(c *conn) error {
		// As in doubt.go: where there was no room it is certain that nothing stands.
		err := commit(c)
		if err != nil && !outOfSpace(err) {
			err = fmt.Errorf("%w: its commit failed: %w", queue.ErrUnknown, err)
		}
		return err
	})
	switch {
	case errors.Is(err, queue.ErrUnknown):
		return fmt.Errorf("bring its schema from version %d to %d; a backup of before is %s: %w", version, known, saved, err)
	case err != nil && saved != "":
		err = errors.Join(err, os.Remove(saved)) // or each start would leave one
		fallthrough
	case err != nil:
		return fmt.Errorf("bring its schema from version %d to %d: nothing was changed: %w", version, known, err)
	case saved == "": // somebody else did it
		return nil
	}
	saved = q.keepBackup(saved)
	q.logger.Info("the database's schema was brought up to date", "database", q.path,
		"from", version, "to", known, "backup", saved, "took", time.Since(began).Round(time.Millisecond))
	// The WAL is as large as the database now. Who else has it open keeps it so for
	// a while.
	if err := emptyWAL(c); err != nil && !errors.Is(err, queue.ErrBusy) {
		return err
	}
	return nil
}

// watch looks at the leases of other boots for half of the longest, a minute at most,
// and answers how they stand. A holder who lives renews by half of a lease's length at
// the latest. So of leases longer than two minutes it is not certain that their holder
// is seen: such a service is to be stopped by whoever starts this one.
func (q *Queue) watch(ctx context.Context, c *conn) (seen map[int64]sight, err error) {
	began := q.clock.Mono()
	leases, err := q.leases(c)
	if err != nil {
		return nil, err
	}
	seen = map[int64]sight{}
	var longest time.Duration
	for _, l := range leases {
		if !l.own {
			seen[l.job] = l.is
			longest = max(longest, l.length)
		}
	}
	wait := min(longest/2, watchMost)
	if wait > 0 {
		q.logger.Info("looking whether somebody still renews the leases in the database before its schema is brought up to date",
			"database", q.path, "leases", len(seen), "takes", wait)
	}
	for {
		if err := q.idle(c, seen); err != nil || q.clock.Mono()-began >= wait {
			return seen, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(watchStep):
		}
	}
}

// idle answers nil if nobody is seen to work: no lease of this boot lives, and those
// of other boots stand as they were seen. Else it wraps queue.ErrBusy.
func (q *Queue) idle(c *conn, seen map[int64]sight) error {
	leases, err := q.leases(c)
	if err != nil {
		return err
	}
	now := q.clock.Mono()
	for _, l := range leases {
		switch left := l.is.deadline - now; {
		case l.own && left > 0:
			return fmt.Errorf("%s works on job %d, its lease ends in %v: stop it first, or wait until then: %w",
				l.worker, l.job, left.Round(time.Millisecond), queue.ErrBusy)
		case !l.own && seen[l.job] != l.is:
			return fmt.Errorf("%s works on job %d and keeps its lease: stop it first: %w", l.worker, l.job, queue.ErrBusy)
		}
	}
	return nil
}

// standingLease is a lease as every version of the schema tells of it.
type standingLease struct {
	job    int64
	worker string
	own    bool // of this boot
	is     sight
	length time.Duration
}

func (q *Queue) leases(c *conn) (list []standingLease, err error) {
	err = c.each(context.Background(), `SELECT l.job_id, w.name, b.name, l.fence, l.boot_id, l.deadline_mono, l.length
		FROM leases l JOIN workers w ON w.id = l.worker_id JOIN boots b ON b.id = l.boot_id ORDER BY l.job_id`, nil, func(r row) error {
		list = append(list, standingLease{
			job: r.int(0), worker: r.text(1), own: r.text(2) == q.boot,
			is:     sight{fence: r.int(3), boot: r.int(4), deadline: time.Duration(r.int(5))},
			length: time.Duration(r.int(6)),
		})
		return nil
	})
	return list, err
}
