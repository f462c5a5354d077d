package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/b1213022/bailiff/queue"
)

// What makes a new queue of the copy of an old one.
//
//   - Every job that was not finished is quarantined, by the event restore. It, and
//     each dead or cancelled job, runs again only as reviewed: since the snapshot it
//     may have been requeued and done.
//   - No lease stands and no settlement can be repeated: tokens of the old queue are
//     refused.
//   - Every fence, and the floor from which those of new jobs start, rises far above
//     what the old queue can have given out meanwhile, by an amount that no two
//     restores share. So do the ids of new jobs, while those of the jobs there are stay.
//   - The queue's uid, and with it the idempotency keys of its jobs, stays.

const (
	fenceStep = 1 << 32 // runs of one job that the old queue may have begun since
	idStep    = 1_000_000
	most      = 1<<53 - 1 // of a fence and of an id

	restoreStep = 10_000 // jobs that one statement changes
)

// makeQueue makes a queue of the copy in d.
func makeQueue(ctx context.Context, d *draft, opt Options, r *queue.Restored) error {
	c, err := openConn(dsn(d.temp, private))
	if err != nil {
		return damage(err)
	}
	err = verifyCopy(ctx, c, d, r)
	if err == nil {
		err = migrate(ctx, c, func(int) error { return nil })
	}
	if err == nil {
		err = makeNew(ctx, c, opt, r)
	}
	if err == nil {
		err = setJournal(c, "wal")
	}
	return damage(errors.Join(err, c.close()))
}

// damage gives an error of SQLite about a file that nobody else has open its
// sentinel: what does not come from outside comes from the file.
func damage(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) || errors.Is(err, queue.ErrFull) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrIoErr, sqlite3.ErrNomem, sqlite3.ErrInterrupt, sqlite3.ErrCantOpen, sqlite3.ErrBusy:
		return err
	}
	return damaged("sqlite: %w (code %d)", e, e.ExtendedCode)
}

// verifyCopy refuses a copy that is not as its snapshot was made, as far as can be
// told, or that is no queue. Only then it is written to.
func verifyCopy(ctx context.Context, c *conn, d *draft, r *queue.Restored) error {
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	seals, err := c.number(ctx, countSeals)
	if err != nil {
		return err
	}
	switch {
	case seals > 0:
		err = checkSeal(ctx, c, d.file)
	case version >= snapshotVersion:
		err = unsealed(ctx, c)
	}
	if err != nil {
		return err
	}
	if err := withoutJournal(c); err != nil {
		return err
	}
	// A backup of an older schema, which has no seal, is looked at more closely: at its indexes, too.
	check := `PRAGMA integrity_check(1)`
	if seals > 0 {
		check = `PRAGMA quick_check(1)`
	}
	var word string
	if err := soundBy(ctx, c, check, &word); err != nil {
		return err
	}
	if version >= snapshotVersion {
		if _, err := c.one(ctx, `SELECT snapshot_at FROM queue`, nil, func(row row) error {
			r.TakenAt = atMS(row, 0)
			return nil
		}); err != nil {
			return err
		}
	}
	if n, err := c.number(ctx, `SELECT count(*) FROM queue`); err != nil || n != 1 {
		return errors.Join(err, damaged("it holds no queue"))
	}
	return checkReferences(ctx, c)
}

// unsealed says what a file without a seal is, whose schema knows them.
func unsealed(ctx context.Context, c *conn) error {
	marked, err := c.number(ctx, `SELECT count(snapshot_at) FROM queue`)
	switch {
	case err != nil:
		return err
	case marked > 0:
		return errSeal
	}
	return ErrUnsealed
}

const (
	quarantineHistory = `INSERT INTO history (job_id, seq, at, event, from_state, to_state, attempt, fence, worker_id, handler_id, detail)
		SELECT j.id, (SELECT coalesce(max(seq), 0) + 1 FROM history WHERE job_id = j.id), ?3, 14, j.state, 6, j.attempt,
			max(j.fence + ?4, ?3) + ?5, l.worker_id, l.handler_id, ?6
		FROM jobs j LEFT JOIN leases l ON l.job_id = j.id
		WHERE j.id > ?1 AND j.id <= ?2 AND j.state IN (1, 2, 3)`
	quarantineJobs = `UPDATE jobs SET state = 6, due_boot = NULL, due_mono = NULL, effects_possible = 1, updated_at = ?3, last_error = ?4
		WHERE id > ?1 AND id <= ?2 AND state IN (1, 2, 3)`
	raiseJobs = `UPDATE jobs SET fence = max(fence + ?4, ?3) + ?5, settled_token = NULL, settled_outcome = NULL,
		needs_review = CASE state WHEN 4 THEN needs_review ELSE 1 END
		WHERE id > ?1 AND id <= ?2`
	raiseQueue = `UPDATE queue SET fence_floor = max(fence_floor + ?2, ?1) + ?3, snapshot_at = NULL, restored_at = ?1`
	highestID  = `SELECT max(n) FROM (SELECT max(seq) AS n FROM sqlite_sequence WHERE name = 'jobs'
		UNION ALL SELECT max(id) FROM jobs UNION ALL SELECT max(job_id) FROM remembered)`
	recountJobs = `INSERT INTO counts (kind_id, state, n) SELECT kind_id, state, count(*) FROM jobs GROUP BY kind_id, state`
)

// makeNew changes the copy, in one transaction, into a queue of its own.
func makeNew(ctx context.Context, c *conn, opt Options, r *queue.Restored) error {
	now := opt.Clock.Now().Truncate(time.Millisecond).UnixMilli()
	random := rand.Int64N(1 << 31)
	highestFence, err := c.number(ctx, `SELECT max(max(coalesce((SELECT max(fence) FROM jobs), 0), fence_floor) + ?2, ?1) + ?3 FROM queue`,
		now, fenceStep, random)
	if err != nil {
		return err
	}
	highest, err := c.number(ctx, highestID)
	if err != nil {
		return err
	}
	r.NextID = highest + idStep
	if highestFence > most || r.NextID > most {
		return damaged("its fences would come to %d and its ids to %d, above %d", highestFence, r.NextID, int64(most))
	}
	if err := c.script(`BEGIN IMMEDIATE`); err != nil {
		return err
	}
	r.Quarantined, err = changeJobs(ctx, c, now, random, restoredFrom(r.TakenAt))
	if err != nil {
		return err
	}
	for _, s := range []struct {
		text string
		args []any
	}{
		{text: `DELETE FROM leases`},
		{text: `DELETE FROM boots`},
		{text: `DELETE FROM counts`},
		{text: recountJobs},
		{text: `DELETE FROM sqlite_sequence WHERE name = 'jobs'`},
		{`INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?)`, []any{r.NextID - 1}},
		{raiseQueue, []any{now, fenceStep, random}},
		{text: `DROP TABLE IF EXISTS snapshot_seal`},
		{text: `COMMIT`},
	} {
		if _, err := c.execIn(ctx, s.text, s.args...); err != nil {
			return err
		}
	}
	if r.FenceFloor, err = c.number(ctx, `SELECT fence_floor FROM queue`); err != nil {
		return err
	}
	r.Jobs, err = countJobs(ctx, c)
	return err
}

// changeJobs changes the jobs, in portions of which each can be told to stop.
func changeJobs(ctx context.Context, c *conn, now, random int64, why string) (unfinished int64, err error) {
	for after := int64(0); ; {
		last, err := c.number(ctx, `SELECT max(id) FROM (SELECT id FROM jobs WHERE id > ? ORDER BY id LIMIT ?)`, after, restoreStep)
		if err != nil || last == 0 {
			return unfinished, err
		}
		n, err := c.execIn(ctx, quarantineHistory, after, last, now, fenceStep, random, why)
		if err != nil {
			return 0, err
		}
		unfinished += n
		if _, err := c.execIn(ctx, quarantineJobs, after, last, now, why); err != nil {
			return 0, err
		}
		if _, err := c.execIn(ctx, raiseJobs, after, last, now, fenceStep, random); err != nil {
			return 0, err
		}
		after = last
	}
}

// restoredFrom tells a person why a job is quarantined.
func restoredFrom(taken time.Time) string {
	if taken.IsZero() {
		return "restored from a copy of the database: what happened to it since is not known"
	}
	return fmt.Sprintf("restored from a snapshot of %s: what happened to it since is not known", taken.Format(time.RFC3339))
}
