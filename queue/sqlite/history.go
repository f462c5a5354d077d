package sqlite

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/b1213022/bailiff/queue"
)

// History answers the newest entries of a job, oldest first; limit 0 is
// queue.DefaultHistory.
func (q *Queue) History(ctx context.Context, id int64, limit int) ([]queue.Entry, error) {
	if err := cmp.Or(queue.Ref{ID: id}.Check(), queue.CheckHistory(limit)); err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	var list []queue.Entry
	err := q.read(ctx, "history", func(s *snapshot) error {
		if _, err := s.job(queue.Ref{ID: id}); err != nil {
			return err
		}
		return s.each(`SELECT h.at, h.event, h.from_state, h.to_state, h.attempt, h.fence, w.name, f.digest, h.detail,
			h.count, coalesce(h.last_at, h.at), coalesce(h.last_fence, h.fence)
			FROM history h LEFT JOIN workers w ON w.id = h.worker_id LEFT JOIN handler_files f ON f.id = h.handler_id
			WHERE h.job_id = ? ORDER BY h.seq DESC LIMIT ?`,
			[]any{id, cmp.Or(limit, queue.DefaultHistory)}, func(r row) error {
				list = append(list, queue.Entry{
					At: atMS(r, 0), Event: events.word(code(r.int(1))),
					From: states.word(code(r.int(2))), To: states.word(code(r.int(3))),
					Attempt: int(r.int(4)), Fence: r.int(5), Worker: r.text(6),
					Detail: joined(handlerFile(r.blob(7)), r.text(8)),
					Count:  r.int(9), LastAt: atMS(r, 10), LastFence: r.int(11),
				})
				return nil
			})
	})
	slices.Reverse(list)
	return list, err
}

// handlerFile tells which file a run was given to.
func handlerFile(digest []byte) string {
	if len(digest) == 0 {
		return ""
	}
	return "handler sha256 " + hex.EncodeToString(digest)
}
