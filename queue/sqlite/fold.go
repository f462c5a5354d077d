package sqlite

import "github.com/b1213022/bailiff/queue"

// told is a row of the history as fold compares it.
type told struct {
	seq, event, from, to, attempt, worker, handler int64
	detail                                         string
	at, fence                                      int64
}

func (a *told) equal(b *told) bool {
	return a.event == b.event && a.from == b.from && a.to == b.to && a.attempt == b.attempt &&
		a.worker == b.worker && a.handler == b.handler && a.detail == b.detail
}

// fold keeps a job that is snoozed again and again from filling its history: a
// claim and the snooze that ended it, equal to the pair before, are counted there.
// It looks at the newest four rows, of which the last is the snooze just written.
func (t *transaction) fold(id int64) error {
	var last []told // newest first
	if err := t.each(`SELECT seq, event, coalesce(from_state, 0), to_state, attempt, coalesce(worker_id, 0), coalesce(handler_id, 0),
		coalesce(detail, ''), at, fence FROM history WHERE job_id = ? ORDER BY seq DESC LIMIT 4`, []any{id}, func(r row) error {
		last = append(last, told{
			seq: r.int(0), event: r.int(1), from: r.int(2), to: r.int(3), attempt: r.int(4), worker: r.int(5),
			handler: r.int(6), detail: r.text(7), at: r.int(8), fence: r.int(9),
		})
		return nil
	}); err != nil {
		return err
	}
	if len(last) < 4 || code(last[1].event) != events.code(queue.EventClaim) ||
		!last[0].equal(&last[2]) || !last[1].equal(&last[3]) {
		return nil
	}
	for i := range 2 {
		if _, err := t.exec(`UPDATE history SET count = count + 1, last_at = ?, last_fence = ? WHERE job_id = ? AND seq = ?`,
			last[i].at, last[i].fence, id, last[i+2].seq); err != nil {
			return err
		}
	}
	_, err := t.exec(`DELETE FROM history WHERE job_id = ? AND seq >= ?`, id, last[1].seq)
	return err
}
