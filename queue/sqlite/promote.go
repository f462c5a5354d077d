package sqlite

import (
	"math/rand/v2"

	"github.com/b1213022/bailiff/queue"
)

const (
	// promoteStep is how many jobs of a kind a claim promotes, if it asks for
	// fewer.
	promoteStep = 64
	// promoteSome is of how many claims one promotes that need not: so jobs of a
	// higher priority that are due after many others are seen before all those ran.
	promoteSome = 8
	// promoteBound is how many jobs a commit promotes; then only what its claims
	// ask for.
	promoteBound = 500
)

// step is how many jobs of each of some kinds are promoted for a claim of up to
// most. As many as are asked for of a kind make sure that the oldest due of a
// priority come first; one of each is the least with which a claim of any kind
// finds something as long as something is due.
func (t *transaction) step(most, kinds int) int {
	if kinds == 1 {
		return max(most, min(promoteStep, t.promotions))
	}
	return max(1, min(max(most, promoteStep), t.promotions/kinds))
}

// promoteDue asks each index for all n: most jobs are due by both clocks.
const promoteDue = `UPDATE jobs SET state = 2, due_at = ` + dueSince + ` WHERE id IN (SELECT id FROM (
	SELECT * FROM (SELECT id, due_at AS since FROM jobs WHERE ` + dueByWall + ` ORDER BY due_at LIMIT ?5)
	UNION ALL
	SELECT * FROM (SELECT id, ` + dueSince + ` FROM jobs WHERE ` + dueByMono + ` ORDER BY due_mono LIMIT ?5)
	) GROUP BY id ORDER BY min(since) LIMIT ?5)`

// promote makes up to n due jobs of a kind ready, oldest due first, for a claim of
// up to most. Where more are due than that, and as many as are asked for are ready
// and were due before all of these, most claims leave it to others.
func (t *transaction) promote(kind int64, n, most int) error {
	if err := allowed(scheduled, queue.EventPromote, ready); err != nil {
		return err
	}
	since, due, err := t.firstDue(kind)
	if err != nil || !due {
		return err
	}
	if rand.N(promoteSome) > 0 {
		enough, err := t.readyBefore(kind, since, int64(most))
		if err != nil {
			return err
		}
		if enough {
			left, err := t.countDueUpTo(kind, int64(n)+1)
			if err != nil || left > int64(n) {
				return err
			}
		}
	}
	args, err := t.moment(kind, n)
	if err != nil {
		return err
	}
	promoted, err := t.exec(promoteDue, args...)
	if err != nil || promoted == 0 {
		return err
	}
	t.promotions = max(0, t.promotions-int(promoted))
	t.counts[place{kind, scheduled}] -= promoted
	t.counts[place{kind, ready}] += promoted
	return nil
}

// readyBefore reports whether n ready jobs of a kind have been due since a moment or
// longer.
func (t *transaction) readyBefore(kind, since, n int64) (bool, error) {
	list, err := t.priorities(kind)
	if err != nil {
		return false, err
	}
	for _, p := range list {
		before, err := t.number(`SELECT count(*) FROM (SELECT 1 FROM jobs WHERE state = 2 AND kind_id = ?
			AND priority = ? AND due_at <= ? LIMIT ?)`, kind, p, since, n)
		if n -= before; err != nil || n == 0 {
			return err == nil, err
		}
	}
	return false, nil
}
