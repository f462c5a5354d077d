package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// ExpireBound and PromoteBound let tests make more than one commit's worth.
const (
	ExpireBound  = expireBound
	PromoteBound = promoteBound
)

// FailCommit replaces the next COMMIT: it gets a function that commits for real
// and answers what the writer is told.
func (q *Queue) FailCommit(f func(commit func() error) error) {
	_ = q.write(context.Background(), "test", &request{run: func(t *transaction) error {
		real := t.w.commit
		t.w.commit = func(c *conn) error {
			// This is the commit of the request that set the trap.
			t.w.commit = func(c *conn) error {
				t.w.commit = real
				return f(func() error { return real(c) })
			}
			return real(c)
		}
		return nil
	}})
}

// WriterScript runs statements on the writer's connection.
func (q *Queue) WriterScript(text string) error {
	return q.write(context.Background(), "test", &request{run: func(t *transaction) error { return t.conn.script(text) }})
}

// Words lists the codes of each word table.
func Words() map[string]map[string]int64 {
	all := map[string]map[string]int64{"state_word": {}, "event_word": {}, "uncertain_word": {}, "effect_word": {}}
	for w, c := range states {
		all["state_word"][string(w)] = int64(c)
	}
	for w, c := range events {
		all["event_word"][string(w)] = int64(c)
	}
	for w, c := range uncertainRules {
		all["uncertain_word"][string(w)] = int64(c)
	}
	for w, c := range effectStates {
		all["effect_word"][string(w)] = int64(c)
	}
	return all
}

// Waiting is how many requests wait for the writer.
func (q *Queue) Waiting() int {
	q.writer.mu.Lock()
	defer q.writer.mu.Unlock()
	return len(q.writer.first) + len(q.writer.rest)
}

// TakeReaders takes every place of those for all.
func (q *Queue) TakeReaders() (release func()) {
	for range readers {
		q.pool.room <- struct{}{}
	}
	return func() {
		for range readers {
			<-q.pool.room
		}
	}
}

// ReadUntil begins a read that never ends by itself and calls begun in its midst.
func (q *Queue) ReadUntil(ctx context.Context, begun func()) error {
	return q.read(ctx, "test", func(s *snapshot) error {
		return s.each(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n`, nil, func(r row) error {
			if r.int(0) == 1 {
				begun()
			}
			return nil
		})
	})
}

// Patiently is patiently.
func Patiently(ctx context.Context, try func() error) error { return patiently(ctx, try) }

// FilesAreBeingMade reports whether nobody can look at a file just now.
func FilesAreBeingMade() bool {
	if !opened.mu.TryLock() {
		return true
	}
	opened.mu.Unlock()
	return false
}

// LooksAfterEvent is when Changes looks after an event, if the look at place found
// is the first that finds something; -1: none does.
func LooksAfterEvent(found int) (at []time.Duration) {
	var l looks
	wait, ok := l.next(true, true) // from before the event
	for moment := time.Duration(0); ok; {
		moment += wait
		at = append(at, moment)
		wait, ok = l.next(false, len(at)-1 == found)
	}
	return at
}

// Queries are those whose cost must not grow with what they do not ask for, with
// how each is to find its rows.
func Queries() map[string][]string {
	all := map[string][]string{}
	for query, plan := range map[string][]string{
		streamBegin + listedJobs + `4` + streamEnd:            {"SEARCH j USING COVERING INDEX jobs_listed (kind_id=? AND state=? AND rowid>?)"},
		streamBegin + allJobs + streamEnd:                     {"SEARCH j USING INTEGER PRIMARY KEY (rowid>?)"},
		streamBegin + notDue + streamEnd:                      {"SEARCH j USING COVERING INDEX jobs_scheduled (kind_id=? AND due_at>?)"},
		streamBegin + keyedJobs(`?7`, `?8`) + streamEnd:       {"SEARCH j USING COVERING INDEX sqlite_autoindex_jobs_1 (kind_id=? AND key>? AND key<?)"},
		streamBegin + overdueJobs(`?7`, `?8`) + streamEnd:     {"SEARCH j USING COVERING INDEX jobs_ready (kind_id=? AND priority=? AND due_at<?)"},
		streamBegin + `jobs j WHERE ` + dueByWall + streamEnd: {"SEARCH j USING COVERING INDEX jobs_scheduled (kind_id=? AND due_at<?)"},
		countByWall:                         {"SEARCH jobs USING COVERING INDEX jobs_scheduled (kind_id=? AND due_at<?)"},
		countByMono:                         {"SEARCH jobs USING COVERING INDEX jobs_delayed (kind_id=? AND due_boot=? AND due_mono>? AND due_mono<?)"},
		selectOver:                          {"SEARCH l USING INDEX leases_expiry (boot_id=? AND expires_mono<?)"},
		selectMarked:                        {"SEARCH jobs USING COVERING INDEX jobs_marked (id>?)"},
		nextBoot:                            {"SEARCH leases USING COVERING INDEX leases_expiry (boot_id>?)"},
		selectStrangers:                     {"SEARCH leases USING INDEX leases_expiry (boot_id=?)"},
		selectPast(queue.StateDone):         {"SEARCH j USING COVERING INDEX jobs_finished (kind_id=? AND state=? AND finished_at<?)"},
		countPrunable(queue.StateCancelled): {"SEARCH j USING COVERING INDEX jobs_finished (kind_id=? AND state=? AND finished_at<?)"},
		stillPast: {
			"SEARCH j USING INTEGER PRIMARY KEY (rowid=?)",
			"SEARCH e USING PRIMARY KEY (job_id=?)",
		},
		forget[0]: {"SEARCH j USING INTEGER PRIMARY KEY (rowid=?)"},
		forget[1]: {"SEARCH effects USING PRIMARY KEY (job_id=?)"},
		forget[2]: {"SEARCH history USING PRIMARY KEY (job_id=?)"},
		forget[3]: {"SEARCH results USING INTEGER PRIMARY KEY (rowid=?)"},
		forget[4]: {"SEARCH job_data USING INTEGER PRIMARY KEY (rowid=?)"},
		forget[5]: {"SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)"},
		promoteDue: {
			"SEARCH jobs USING COVERING INDEX jobs_scheduled (kind_id=? AND due_at<?)",
			"SEARCH jobs USING COVERING INDEX jobs_delayed (kind_id=? AND due_boot=? AND due_mono>? AND due_mono<?)",
			"SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
		},
	} {
		all[steady(query)] = plan
	}
	return all
}

// BeginUpgrade does all that brings an older schema up to date but the end of the
// transaction, much of it in the file already.
func BeginUpgrade(path string) error {
	c, err := openConn(dsn(path, writing))
	if err != nil {
		return err
	}
	version, err := schemaVersion(c)
	if err != nil {
		return err
	}
	if err := c.script(`PRAGMA cache_size = 2; PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE`); err != nil {
		return err
	}
	return steps(context.Background(), c, version)
}

// BringUp brings version 1 of the schema up to date with a COMMIT of the caller's, who
// gets what commits for real. The function begun of its statements calls begun.
func BringUp(ctx context.Context, path string, opt Options, begun func(), commit func(commit func() error) error) error {
	c, err := openWriter(path)
	if err != nil {
		return err
	}
	if err := c.c.RegisterFunc("begun", func() int64 { begun(); return 1 }, false); err != nil {
		return err
	}
	opt = opt.withDefaults()
	q := &Queue{path: path, clock: opt.Clock, boot: opt.Clock.Boot(), logger: opt.Logger}
	err = q.bringUp(ctx, c, 1, func(c *conn) error { return commit(c.commit) })
	return errors.Join(err, c.close())
}

// Miscounted are the places whose kept count is not the number of jobs there.
func (q *Queue) Miscounted() (list []string, err error) {
	err = q.read(context.Background(), "test", func(s *snapshot) error {
		return s.each(`SELECT kind_id, state, sum(n) FROM (
			SELECT kind_id, state, n FROM counts UNION ALL SELECT kind_id, state, -1 FROM jobs
			) GROUP BY kind_id, state HAVING sum(n) <> 0`, nil, func(r row) error {
			list = append(list, fmt.Sprintf("kind %d, state %s: counted %d too many", r.int(0), states.word(code(r.int(1))), r.int(2)))
			return nil
		})
	})
	return list, err
}
