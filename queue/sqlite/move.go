package sqlite

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// entry is what a row of the history tells beside the move itself.
type entry struct {
	worker  int64 // 0: none
	attempt int64 // of the run it is about; 0: as the row stands
	handler int64 // of handler_files; 0: none
	detail  string
}

const updateJob = `UPDATE jobs SET state = ?, due_at = ?, due_boot = ?, due_mono = ?, attempt = ?, last_limit = ?,
	fence = ?, marked = ?, effects_possible = ?, needs_review = ?, updated_at = ?, finished_at = ?, kept = 0, last_error = ?,
	settled_token = ?, settled_outcome = ?
	WHERE id = ? AND state = ? AND fence = ?`

// move is the way by which a stored job changes its state, but for promote, which
// moves many and leaves no trace in the history. Whatever else
// changes with it, the caller has set in j; the state, the times and the replay
// digests are set here, the latter from j only when the event settles a run. The
// row must still be as j was read: otherwise somebody wrote it without the lock.
func (t *transaction) move(j *jobRow, event queue.Event, to code, fenceBefore int64, e entry) error {
	from := j.state
	if err := allowed(from, event, to); err != nil {
		return fmt.Errorf("job %d: %w", j.id, err)
	}
	j.state = to
	j.updated = t.ms()
	j.finished = 0
	if states.word(to).Finished() {
		j.finished = t.ms()
	}
	if to == quarantined || j.effectsPossible {
		j.needsReview = true
	}
	if !event.Settles() {
		j.settledToken, j.settledOutcome = nil, nil
	}
	n, err := t.exec(updateJob,
		j.state, j.due, zeroNull(j.dueBoot), nullWith(j.dueBoot, j.dueMono), j.attempt, j.lastLimit,
		j.fence, j.marked, j.effectsPossible, j.needsReview, j.updated, zeroNull(j.finished), orNull(j.lastError),
		j.settledToken, j.settledOutcome,
		j.id, from, fenceBefore)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("job %d: its row changed under the write lock", j.id)
	}
	t.counts[place{j.kind, from}]--
	t.counts[place{j.kind, to}]++
	return t.record(j, event, from, e)
}

// allowed asks the rules whether event may lead a job from one state to the
// other.
func allowed(from code, event queue.Event, to code) error {
	move, err := queue.Allowed(states.word(from), event)
	if err != nil {
		return err
	}
	if !slices.Contains(move.To, states.word(to)) {
		return fmt.Errorf("%s of a %s job cannot lead to %s: %w", event, move.From, states.word(to), queue.ErrConflict)
	}
	return nil
}

const insertHistory = `INSERT INTO history (job_id, seq, at, event, from_state, to_state, attempt, fence,
	worker_id, handler_id, detail)
	SELECT ?1, coalesce(max(seq), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM history WHERE job_id = ?1`

// record writes a row of the history about j as it stands now. from 0 is none.
func (t *transaction) record(j *jobRow, event queue.Event, from code, e entry) error {
	_, err := t.exec(insertHistory, j.id, t.ms(), events.code(event), zeroNull(int64(from)), j.state,
		cmp.Or(e.attempt, j.attempt), j.fence, zeroNull(e.worker), zeroNull(e.handler), orNull(e.detail))
	return err
}

// setDue makes j due after a delay from now, on both clocks: whichever comes
// first counts, so that a wall clock set back makes nothing wait longer.
func (t *transaction) setDue(j *jobRow, delay time.Duration) error {
	j.due = t.now.Add(delay).UnixMilli()
	j.dueBoot, j.dueMono = 0, 0
	if delay <= 0 {
		return nil
	}
	boot, err := t.boot()
	j.dueBoot, j.dueMono = boot, int64(t.mono+delay)
	return err
}

// zeroNull stores 0 as NULL.
func zeroNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// nullWith stores n as NULL where its partner is.
func nullWith(partner, n int64) any {
	if partner == 0 {
		return nil
	}
	return n
}
