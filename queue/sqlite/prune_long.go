package sqlite

import "github.com/b1213022/bailiff/queue"

// One job can have hundreds of thousands of rows of history, and to remove them all
// takes the write lock for seconds. So the oldest rows of such a job go first, a portion
// with each commit, while the job still stands; it goes with the last longHistory rows.
//
// Nobody is told anything wrong meanwhile: no more than these newest rows is ever
// answered (queue.MaxHistory), and of older ones only the last move is read, which stays
// until the job goes. A job that is requeued in the midst of it goes on with what is left.
// One commit is not bounded: of a job with more notes than that since its last move.
const (
	longHistory     = 10_000
	longHistoryText = `10000`
)

var _ [longHistory - queue.MaxHistory]struct{} // it is not below what can be asked for

// countRows counts the rows of a history j, as far as it matters, and reads those that
// a prune would remove first.
const countRows = `(SELECT count(*) FROM (SELECT 1 FROM history h WHERE h.job_id = j.id LIMIT 1 + ` + longHistoryText + `))`

// shortenHistory removes the oldest rows of a history, which is without gaps, but never
// of the newest that can be asked for, and nothing from the last move on.
const shortenHistory = `DELETE FROM history WHERE job_id = ?1
	AND seq < (SELECT min(seq) FROM history WHERE job_id = ?1) + ?2
	AND seq <= (SELECT max(seq) FROM history WHERE job_id = ?1) - ?3
	AND seq < (SELECT seq FROM history WHERE job_id = ?1 AND event <> 15 ORDER BY seq DESC LIMIT 1)`

// shorten removes a portion of a job's history. It answers how many rows that was.
func (t *transaction) shorten(id int64) (int64, error) {
	return t.exec(shortenHistory, id, pruneRows, longHistory)
}
