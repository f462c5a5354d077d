package sqlite

import (
	"cmp"

	"github.com/b1213022/bailiff/queue"
)

// jobRow is a row of the table jobs, without what no transition looks at.
type jobRow struct {
	id, kind         int64
	key              string
	state            code
	priority, due    int64
	dueBoot, dueMono int64 // dueBoot 0: no monotonic due time
	attempt          int64
	namedLimit       int64
	lastLimit        int64
	fence            int64
	marked           bool
	effectsPossible  bool
	needsReview      bool
	created, updated int64
	finished         int64 // 0: not
	lastError        string
	settledToken     []byte
	settledOutcome   []byte
}

const jobColumns = `j.id, j.kind_id, j.key, j.state, j.priority, j.due_at, j.due_boot, j.due_mono, j.attempt,
	j.named_limit, j.last_limit, j.fence, j.marked, j.effects_possible, j.needs_review,
	j.created_at, j.updated_at, j.finished_at, j.last_error, j.settled_token, j.settled_outcome`

const jobColumnCount = 21

func (j *jobRow) scan(r row) {
	*j = jobRow{
		id: r.int(0), kind: r.int(1), key: r.text(2), state: code(r.int(3)),
		priority: r.int(4), due: r.int(5), dueBoot: r.int(6), dueMono: r.int(7), attempt: r.int(8),
		namedLimit: r.int(9), lastLimit: r.int(10), fence: r.int(11), marked: r.bool(12),
		effectsPossible: r.bool(13), needsReview: r.bool(14),
		created: r.int(15), updated: r.int(16), finished: r.int(17), lastError: r.text(18),
		settledToken: r.blob(19), settledOutcome: r.blob(20),
	}
}

const (
	jobByID  = `SELECT ` + jobColumns + ` FROM jobs j WHERE j.id = ?`
	jobByKey = `SELECT ` + jobColumns + ` FROM jobs j JOIN kinds k ON k.id = j.kind_id WHERE k.name = ? AND j.key = ?`
)

// job finds the row of a job; queue.ErrNotFound if there is none.
func (v *view) job(ref queue.Ref) (*jobRow, error) {
	j := &jobRow{}
	query, args := jobByKey, []any{ref.Kind, ref.Key}
	if ref.ID != 0 {
		query, args = jobByID, []any{ref.ID}
	}
	found, err := v.one(query, args, func(r row) error {
		j.scan(r)
		return nil
	})
	if err == nil && !found {
		err = v.missing(ref)
	}
	return j, err
}

// limit is the attempt limit that counts.
func (j *jobRow) limit() int64 {
	return cmp.Or(j.namedLimit, j.lastLimit, queue.DefaultMaxAttempts)
}
