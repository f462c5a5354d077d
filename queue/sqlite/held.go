package sqlite

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// held is a row of the table leases.
type held struct {
	job, fence   int64
	token        []byte // its digest
	worker, boot int64
	workerName   string
	length       time.Duration
	deadline     time.Duration // of the boot's monotonic clock
	uncertain    queue.UncertainRule
	limit        int64
	expires      time.Duration // of this machine's clock; only over sets it
}

const heldColumns = `l.job_id, l.fence, l.token, l.worker_id, l.boot_id, w.name, l.length, l.deadline_mono,
	l.uncertain, l.attempt_limit`

func (h *held) scan(r row) {
	*h = held{
		job: r.int(0), fence: r.int(1), token: r.blob(2), worker: r.int(3), boot: r.int(4), workerName: r.text(5),
		length: time.Duration(r.int(6)), deadline: time.Duration(r.int(7)),
		uncertain: uncertainRules.word(code(r.int(8))), limit: r.int(9),
	}
}

// tokenDigest is what the file knows of a token: enough to recognise it.
func tokenDigest(token queue.Token) []byte {
	return digest(sha256.Sum256(token[:]))
}

// leaseOf finds the lease that stands on a job, if any.
func (t *transaction) leaseOf(id int64) (h held, found bool, err error) {
	found, err = t.one(`SELECT `+heldColumns+` FROM leases l JOIN workers w ON w.id = l.worker_id WHERE l.job_id = ?`,
		[]any{id}, func(r row) error {
			h.scan(r)
			return nil
		})
	return h, found, err
}

// live answers nil if the token holds the lease at this moment; else it wraps
// queue.ErrLeaseLost and says why. A lease of another boot is live until somebody
// has expired it: when it ends is not to be known here.
func (t *transaction) live(h *held, token queue.Token) error {
	if subtle.ConstantTimeCompare(h.token, tokenDigest(token)) != 1 {
		return fmt.Errorf("another claim holds it: %w", queue.ErrLeaseLost)
	}
	boot, err := t.bootID()
	if err != nil {
		return err
	}
	if over := t.mono - h.deadline; h.boot == boot && over >= 0 {
		return fmt.Errorf("its time was over %v ago: %w", over.Round(time.Millisecond), queue.ErrLeaseLost)
	}
	return nil
}

// standing is what decides where the job of a run goes.
func (t *transaction) standing(j *jobRow, h *held) (queue.Standing, error) {
	open, repeatable, err := t.openEffects(j.id)
	return queue.Standing{
		OpenEffects: open, OpenRepeatable: repeatable, Marked: j.marked,
		Attempt: int(j.attempt), MaxAttempts: int(h.limit), Uncertain: h.uncertain,
	}, err
}

// release takes the lease off its job.
func (t *transaction) release(h *held) error {
	n, err := t.exec(`DELETE FROM leases WHERE job_id = ? AND fence = ? AND token = ?`, h.job, h.fence, h.token)
	if err == nil && n != 1 {
		err = fmt.Errorf("job %d: its lease changed under the write lock: %w", h.job, queue.ErrLeaseLost)
	}
	return err
}
