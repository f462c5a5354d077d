package sqlite

import "github.com/b1213022/bailiff/queue"

const (
	// promoteStep is how many jobs of a kind a claim promotes, if it asks for
	// fewer.
	promoteStep = 64
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

// promote makes up to n due jobs of a kind ready, oldest due first.
func (t *transaction) promote(kind int64, n int) error {
	if err := allowed(scheduled, queue.EventPromote, ready); err != nil {
		return err
	}
	if _, due, err := t.firstDue(kind); err != nil || !due {
		return err
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
