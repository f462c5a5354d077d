package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/b1213022/bailiff/queue"
)

// A prune forgets finished jobs with all that belongs to them; the table remembered
// keeps what an enqueue of the same key has to know. It chooses the jobs, and reads
// what it will change of them, before it takes the write lock: so the pages come from
// the disk while nobody waits. Under the lock it looks at each job again.
//
// A finished job with an open effect is marked as kept when a prune comes upon it.
// The index by which prunes choose is without those, so that no further prune walks
// over them.

// One prune ends before it comes to more of its jobs' payloads and results in bytes
// or rows of history, unless a single job has more: then it is about that one alone,
// and at most longHistory rows of it (prune_long.go). What waits for the write lock
// waits for no more than that.
const (
	pruneBytes = 4 << 20
	pruneRows  = 4000
)

// Prune forgets finished jobs that are past their retention, those of the oldest end
// first, in one commit of at most p.Limit jobs. The same commit gives pages of the
// file that hold nothing back to the file system, a bounded number (shrink.go). Where
// there is nothing to do it waits for no lock and writes nothing. While it answers
// More, a further call finds more to do; leave others some time in between.
func (q *Queue) Prune(ctx context.Context, p queue.Pruning) (queue.Pruned, error) {
	if err := p.Check(); err != nil {
		return queue.Pruned{}, fmt.Errorf("prune: %w", err)
	}
	p.Limit = cmp.Or(p.Limit, queue.DefaultPrune)
	var answer queue.Pruned
	var found choice
	var spare bool
	err := q.read(ctx, "prune", func(s *snapshot) (err error) {
		if p.DryRun {
			answer.Jobs, err = s.countPast(&p)
			return err
		}
		if found, err = s.past(&p); err != nil {
			return err
		}
		spare, err = s.spare()
		return err
	})
	if err != nil || p.DryRun || len(found.ids) == 0 && !spare {
		return answer, err
	}
	err = q.write(ctx, "prune", &request{weight: len(found.ids), run: func(t *transaction) (err error) {
		answer = queue.Pruned{More: found.more}
		if answer.Jobs, err = t.prune(&found, p.Keep); err != nil {
			return err
		}
		answer.Freed, spare, err = t.shrink()
		answer.More = found.more || spare
		return err
	}})
	if err != nil {
		return queue.Pruned{}, err
	}
	return answer, nil
}

// prunable are the states from which a job is pruned.
var prunable = []queue.State{queue.StateDone, queue.StateDead, queue.StateCancelled}

// cutoff is up to when a job has to have ended in a state to be past its retention.
func (v *view) cutoff(keep queue.Retention, s queue.State) int64 {
	d, ends := keep.For(s)
	if !ends {
		return math.MinInt64
	}
	return v.now.Add(-d).UnixMilli()
}

// pastBy selects the jobs of a kind that ended in a state, by the index
// jobs_finished; SQLite takes it for a query that repeats its condition.
func pastBy(s queue.State) string {
	return fmt.Sprintf(`FROM jobs j WHERE state IN (4, 5, 7) AND kept = 0 AND kind_id = ?1 AND state = %d AND finished_at <= ?2`,
		states.code(s))
}

func selectPast(s queue.State) string {
	return `SELECT id, finished_at ` + pastBy(s) + ` ORDER BY finished_at, id LIMIT ?3`
}

func countPrunable(s queue.State) string {
	return `SELECT count(*) ` + pastBy(s) + ` AND NOT ` + hasOpenEffect
}

// countPast counts the jobs that could be pruned.
func (v *view) countPast(p *queue.Pruning) (n int64, err error) {
	kinds, err := v.filtered(p.Kind)
	for _, k := range kinds {
		for _, state := range prunable {
			some, err := v.number(countPrunable(state), k.id, v.cutoff(p.Keep, state))
			if err != nil {
				return 0, err
			}
			n += some
		}
	}
	return n, err
}

// hasOpenEffect is true of a job j with an effect of which nobody knows whether it
// happened.
const hasOpenEffect = `EXISTS (SELECT 1 FROM effects e WHERE e.job_id = j.id AND e.state = 1 AND e.repeatable = 0)`

// ended is a finished job.
type ended struct{ id, at int64 }

func byEnd(a, b ended) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) }

// choice is what one prune looks at.
type choice struct {
	ids  []int64 // of jobs, those with open effects among them
	long bool    // it is one job, whose history is too long for one commit
	more bool    // they are not all
}

// past are the jobs that one prune looks at.
func (v *view) past(p *queue.Pruning) (found choice, err error) {
	oldest, err := v.oldestPast(p, p.Limit+1)
	if err != nil {
		return choice{}, err
	}
	var bytes, rows int64
	for _, e := range oldest[:min(len(oldest), p.Limit)] {
		b, n, err := v.weigh(e.id)
		if err != nil {
			return choice{}, err
		}
		if bytes, rows = bytes+b, rows+n; len(found.ids) > 0 && (bytes > pruneBytes || rows > pruneRows) {
			break
		}
		found.ids = append(found.ids, e.id)
		if n > longHistory {
			return choice{ids: found.ids, long: true, more: true}, nil
		}
	}
	found.more = len(found.ids) < len(oldest)
	return found, nil
}

// oldestPast are the first n to have ended of those that could be pruned, and of
// those with open effects.
func (v *view) oldestPast(p *queue.Pruning, n int) (oldest []ended, err error) {
	kinds, err := v.filtered(p.Kind)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		for _, state := range prunable {
			cutoff := v.cutoff(p.Keep, state)
			if len(oldest) == n { // later ones are of no interest
				cutoff = min(cutoff, oldest[n-1].at)
			}
			if err := v.each(selectPast(state), []any{k.id, cutoff, n}, func(r row) error {
				oldest = append(oldest, ended{r.int(0), r.int(1)})
				return nil
			}); err != nil {
				return nil, err
			}
			slices.SortFunc(oldest, byEnd)
			oldest = oldest[:min(len(oldest), n)]
		}
	}
	return oldest, nil
}

// weigh answers how much text a job has and how many rows of history; more than
// longHistory is any number above it. It reads them all, and looks where its key stands and where it will be remembered: those are the
// pages that pruning it changes.
func (v *view) weigh(id int64) (bytes, rows int64, err error) {
	_, err = v.one(`SELECT length(CAST(d.payload AS BLOB)) + coalesce(length(CAST(r.result AS BLOB)), 0),
		`+countRows+`,
		EXISTS (SELECT 1 FROM jobs o WHERE o.kind_id = j.kind_id AND o.key = j.key),
		EXISTS (SELECT 1 FROM remembered m WHERE m.kind_id = j.kind_id AND m.key = j.key)
		FROM jobs j JOIN job_data d ON d.job_id = j.id LEFT JOIN results r ON r.job_id = j.id WHERE j.id = ?`,
		[]any{id}, func(r row) error {
			bytes, rows = r.int(0), r.int(1)
			return nil
		})
	return bytes, rows, err
}

// stillPast selects of a list those that are what past found them to be.
const stillPast = `SELECT id, kind_id, state, ` + hasOpenEffect + ` FROM jobs j
	WHERE id IN (SELECT value FROM json_each(?)) AND kept = 0
	AND (state = 4 AND finished_at <= ? OR state = 5 AND finished_at <= ? OR state = 7 AND finished_at <= ?)`

// prune forgets of the jobs those that are still past their retention, and marks
// those with an open effect. Of a job with a long history it forgets a part of that.
func (t *transaction) prune(found *choice, keep queue.Retention) (n int64, err error) {
	var gone, kept []int64
	counts := map[place]int64{}
	if err := t.each(stillPast, []any{jsonList(found.ids), t.cutoff(keep, queue.StateDone),
		t.cutoff(keep, queue.StateDead), t.cutoff(keep, queue.StateCancelled)}, func(r row) error {
		if r.bool(3) {
			kept = append(kept, r.int(0))
			return nil
		}
		gone = append(gone, r.int(0))
		counts[place{r.int(1), code(r.int(2))}]--
		return nil
	}); err != nil {
		return 0, err
	}
	if len(kept) > 0 {
		if _, err := t.exec(`UPDATE jobs SET kept = 1 WHERE id IN (SELECT value FROM json_each(?))`, jsonList(kept)); err != nil {
			return 0, err
		}
	}
	if len(gone) == 0 {
		return 0, nil
	}
	if found.long {
		if n, err := t.shorten(gone[0]); err != nil || n > 0 {
			return 0, err
		}
	}
	for p, n := range counts {
		t.counts[p] += n
	}
	for i, query := range forget {
		n, err = t.exec(query, jsonList(gone))
		if err == nil && (i == 0 || i == len(forget)-1) && n != int64(len(gone)) {
			err = fmt.Errorf("of %d jobs, %d could be remembered or removed", len(gone), n)
		}
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

// forget takes the jobs of a list out of the file: first it remembers their keys,
// last it removes their rows, after all that refers to them.
var forget = []string{
	`INSERT INTO remembered (kind_id, key, job_id, digest, named_limit, state, finished_at)
		SELECT j.kind_id, j.key, j.id, d.digest, j.named_limit, j.state, j.finished_at
		FROM jobs j JOIN job_data d ON d.job_id = j.id WHERE j.id IN (SELECT value FROM json_each(?))`,
	`DELETE FROM effects WHERE job_id IN (SELECT value FROM json_each(?))`,
	`DELETE FROM history WHERE job_id IN (SELECT value FROM json_each(?))`,
	`DELETE FROM results WHERE job_id IN (SELECT value FROM json_each(?))`,
	`DELETE FROM job_data WHERE job_id IN (SELECT value FROM json_each(?))`,
	`DELETE FROM jobs WHERE id IN (SELECT value FROM json_each(?))`,
}

// jsonList is a list of ids as one argument of a statement.
func jsonList(ids []int64) string {
	return strings.ReplaceAll(fmt.Sprint(ids), " ", ",")
}
