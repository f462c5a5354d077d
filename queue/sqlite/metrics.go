package sqlite

import (
	"context"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// Metrics counts the jobs, in all and of each kind that ever had one. What stands
// where is kept counted, and the age of the oldest costs a look for each priority
// in use; but the jobs that fell due and that no claim has promoted yet are counted
// one by one, in the entries of an index alone: milliseconds for 100 000.
func (q *Queue) Metrics(ctx context.Context) (queue.Metrics, error) {
	m := queue.Metrics{Kinds: map[string]queue.KindMetrics{}}
	err := q.read(ctx, "metrics", func(s *snapshot) error {
		kinds, err := s.kinds(nil)
		if err != nil {
			return err
		}
		for _, k := range kinds {
			km, err := s.kindMetrics(&k)
			if err != nil {
				return err
			}
			m.Kinds[k.name] = km
			m.Counts = sum(m.Counts, km.Counts)
		}
		return nil
	})
	return m, err
}

func (s *snapshot) kindMetrics(k *kind) (queue.KindMetrics, error) {
	m := queue.KindMetrics{Paused: k.paused}
	fields := countFields(&m.Counts)
	if err := s.each(`SELECT state, n FROM counts WHERE kind_id = ?`, []any{k.id}, func(r row) error {
		*fields[code(r.int(0))] = r.int(1)
		return nil
	}); err != nil {
		return m, err
	}
	due, err := s.countDue(k.id)
	if err != nil {
		return m, err
	}
	m.Scheduled -= due
	m.Ready += due
	if m.Ready == 0 {
		return m, nil
	}
	oldest, found, err := s.firstDue(k.id)
	if err != nil {
		return m, err
	}
	if !found {
		oldest = s.ms()
	}
	if oldest, err = s.oldestReady(k.id, oldest); err != nil {
		return m, err
	}
	m.OldestReady = max(0, s.now.Sub(time.UnixMilli(oldest)))
	m.HasOldestReady = true
	return m, nil
}

// oldestReady is the earliest due time of a kind's ready jobs, if it is before
// oldest. The index is ordered by priority first, so it is looked up once for each
// priority in use.
func (s *snapshot) oldestReady(kind, oldest int64) (int64, error) {
	for below := int64(queue.MaxPriority) + 1; ; {
		found, err := s.one(`SELECT priority, due_at FROM jobs WHERE state = 2 AND kind_id = ? AND priority < ?
			ORDER BY priority DESC, due_at LIMIT 1`, []any{kind, below}, func(r row) error {
			below, oldest = r.int(0), min(oldest, r.int(1))
			return nil
		})
		if err != nil || !found {
			return oldest, err
		}
	}
}

// countFields tells which count is of which state.
func countFields(n *queue.Counts) map[code]*int64 {
	return map[code]*int64{
		scheduled: &n.Scheduled, ready: &n.Ready, leased: &n.Leased, done: &n.Done,
		dead: &n.Dead, quarantined: &n.Quarantined, cancelled: &n.Cancelled,
	}
}

func sum(a, b queue.Counts) queue.Counts {
	return queue.Counts{
		Scheduled: a.Scheduled + b.Scheduled, Ready: a.Ready + b.Ready, Leased: a.Leased + b.Leased,
		Done: a.Done + b.Done, Dead: a.Dead + b.Dead,
		Quarantined: a.Quarantined + b.Quarantined, Cancelled: a.Cancelled + b.Cancelled,
	}
}
