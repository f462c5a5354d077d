package sqlite

import (
	"context"
	"time"
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
	return map[string][]string{
		countByWall:     {"SEARCH jobs USING COVERING INDEX jobs_scheduled (kind_id=? AND due_at<?)"},
		countByMono:     {"SEARCH jobs USING COVERING INDEX jobs_delayed (kind_id=? AND due_boot=? AND due_mono>? AND due_mono<?)"},
		selectOver:      {"SEARCH l USING INDEX leases_expiry (boot_id=? AND expires_mono<?)"},
		nextBoot:        {"SEARCH leases USING COVERING INDEX leases_expiry (boot_id>?)"},
		selectStrangers: {"SEARCH leases USING INDEX leases_expiry (boot_id=?)"},
		promoteDue: {
			"SEARCH jobs USING COVERING INDEX jobs_scheduled (kind_id=? AND due_at<?)",
			"SEARCH jobs USING COVERING INDEX jobs_delayed (kind_id=? AND due_boot=? AND due_mono>? AND due_mono<?)",
			"SEARCH jobs USING INTEGER PRIMARY KEY (rowid=?)",
		},
	}
}
