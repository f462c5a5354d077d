package sqlite

import (
	"cmp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// describe is the job as a caller sees it, without what is not in its row. A
// scheduled job that is due is shown as ready.
func (v *view) describe(j *jobRow, kind string) (queue.Job, error) {
	state, since := states.word(j.state), j.due
	if j.state == scheduled {
		at, due, err := v.isDue(j)
		if err != nil {
			return queue.Job{}, err
		}
		if due {
			state, since = queue.StateReady, at
		}
	}
	job := queue.Job{
		ID: j.id, Kind: kind, Key: j.key, State: state,
		Priority: int(j.priority), Attempt: int(j.attempt), MaxAttempts: int(cmp.Or(j.namedLimit, j.lastLimit)),
		NamedAttempts: int(j.namedLimit), Fence: j.fence,
		AvailableAt: time.UnixMilli(since).UTC(), CreatedAt: time.UnixMilli(j.created).UTC(),
		UpdatedAt: time.UnixMilli(j.updated).UTC(),
		LastError: j.lastError, CancelRequested: j.marked,
		ExternalEffectsPossible: j.effectsPossible, NeedsReview: j.needsReview,
		IdempotencyKey: queue.IdempotencyKey(v.q.uid, kind, j.key),
	}
	if j.finished != 0 {
		job.FinishedAt = time.UnixMilli(j.finished).UTC()
	}
	return job, nil
}

// whole is the job as a caller sees it, with all that belongs to it.
func (v *view) whole(j *jobRow) (queue.Job, error) {
	kind, err := v.kindName(j.kind)
	if err != nil {
		return queue.Job{}, err
	}
	job, err := v.describe(j, kind)
	if err != nil {
		return queue.Job{}, err
	}
	if _, err := v.one(`SELECT d.payload, d.meta, r.result FROM job_data d LEFT JOIN results r ON r.job_id = d.job_id
		WHERE d.job_id = ?`, []any{j.id}, func(r row) error {
		job.Payload, job.Meta, job.Result = value(r, 0), value(r, 1), value(r, 2)
		return nil
	}); err != nil {
		return queue.Job{}, err
	}
	if job.Effects, err = v.effects(j.id); err != nil {
		return queue.Job{}, err
	}
	return job, v.holder(&job)
}

// value is a JSON text; nil for NULL.
func value(r row, i int) jsontext.Value {
	if r.null(i) {
		return nil
	}
	return jsontext.Value(r.text(i))
}

// effects are the begins of a job, oldest first.
func (v *view) effects(id int64) (list []queue.Effect, err error) {
	err = v.each(`SELECT name, state, fence, begun_at, settled_at, receipt, note FROM effects
		WHERE job_id = ? ORDER BY seq`, []any{id}, func(r row) error {
		list = append(list, queue.Effect{
			Name: r.text(0), State: effectStates.word(code(r.int(1))), Fence: r.int(2),
			BegunAt: atMS(r, 3), SettledAt: atMS(r, 4), Receipt: value(r, 5), Note: r.text(6),
		})
		return nil
	})
	return list, err
}

// openEffects are the names of the begins of which nobody knows whether they
// happened, apart from those that may be repeated.
func (v *view) openEffects(id int64) (open, repeatable []string, err error) {
	err = v.each(`SELECT DISTINCT name, repeatable FROM effects WHERE job_id = ? AND state = 1 ORDER BY name`,
		[]any{id}, func(r row) error {
			if r.bool(1) {
				repeatable = append(repeatable, r.text(0))
			} else {
				open = append(open, r.text(0))
			}
			return nil
		})
	return open, repeatable, err
}

// holder tells who works on a leased job and until when, by the wall clock. What
// is told of a lease of another boot is when it may be expired, less a margin.
func (v *view) holder(job *queue.Job) error {
	if job.State != queue.StateLeased {
		return nil
	}
	boot, err := v.bootID()
	if err != nil {
		return err
	}
	_, err = v.one(`SELECT w.name, l.boot_id, l.deadline_mono, l.length, l.fence FROM leases l
		JOIN workers w ON w.id = l.worker_id WHERE l.job_id = ?`, []any{job.ID}, func(r row) error {
		job.Worker = r.text(0)
		deadline, length := time.Duration(r.int(2)), time.Duration(r.int(3))
		if r.int(1) != boot {
			s := stranger{job: job.ID, is: sight{fence: r.int(4), boot: r.int(1), deadline: deadline}, length: length}
			v.q.sightings.see(&s, v.q.clock.Mono())
			deadline = s.expires - queue.Margin(length)
		}
		job.LeaseExpiresAt = v.now.Add(deadline - v.mono).Round(time.Millisecond)
		return nil
	})
	return err
}
