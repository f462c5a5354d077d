package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// Settle ends a run. Only the token of the live lease can, else it wraps
// queue.ErrLeaseLost and nothing changes. But the token that settled last, with
// the same outcome, while nothing but a promotion has happened to the job since,
// is answered as before, with Replay: an answer can get lost on its way.
func (q *Queue) Settle(ctx context.Context, s queue.Settlement) (queue.Settled, error) {
	if err := s.Check(); err != nil {
		return queue.Settled{}, fmt.Errorf("settle: %w", err)
	}
	s.Outcome.Reason = queue.CutText(s.Outcome.Reason, queue.MaxReason)
	// The caller may leave, and use its memory again, before this is recorded.
	s.Outcome.Result = bytes.Clone(s.Outcome.Result)
	if s.Outcome.After != nil {
		after := *s.Outcome.After
		s.Outcome.After = &after
	}
	var settled queue.Settled
	err := q.write(ctx, fmt.Sprintf("settle job %d", s.ID), &request{essential: true, bytes: len(s.Outcome.Result), run: func(t *transaction) (err error) {
		settled, err = t.settle(&s)
		return err
	}})
	if err != nil {
		return queue.Settled{}, err
	}
	return settled, nil
}

func (t *transaction) settle(s *queue.Settlement) (queue.Settled, error) {
	j, err := t.job(queue.Ref{ID: s.ID})
	if err != nil {
		return queue.Settled{}, err
	}
	token, outcome := tokenDigest(s.Token), outcomeDigest(&s.Outcome)
	if bytes.Equal(j.settledToken, token) && bytes.Equal(j.settledOutcome, outcome) {
		return t.replay(j, &s.Outcome)
	}
	h, found, err := t.leaseOf(s.ID)
	if err != nil {
		return queue.Settled{}, err
	}
	if !found {
		// The rules say it in words, but for a job that is leased without a lease.
		_, err := queue.Allowed(states.word(j.state), queue.EventDone)
		if !errors.Is(err, queue.ErrLeaseLost) {
			err = fmt.Errorf("no lease stands on it: %w", queue.ErrLeaseLost)
		}
		return queue.Settled{}, err
	}
	if err := t.live(&h, s.Token); err != nil {
		return queue.Settled{}, err
	}
	standing, err := t.standing(j, &h)
	if err != nil {
		return queue.Settled{}, err
	}
	d := queue.Decide(s.Outcome, standing)
	if err := t.apply(j, &h, &s.Outcome, d, token, outcome); err != nil {
		return queue.Settled{}, err
	}
	return queue.Settled{
		State: d.To, AvailableAt: waitsUntil(j), Attempt: int(j.attempt),
		ExternalEffectsPossible: j.effectsPossible, Note: joined(tooBig(&s.Outcome), d.Note),
	}, nil
}

const putResult = `INSERT OR REPLACE INTO results (job_id, result) VALUES (?, ?)`

// apply records what was decided.
func (t *transaction) apply(j *jobRow, h *held, o *queue.Outcome, d queue.Decision, token, outcome []byte) error {
	detail := joined(o.Reason, tooBig(o), d.Note)
	about := entry{worker: h.worker, attempt: j.attempt, detail: detail}
	if err := t.decided(j, d, o, detail); err != nil {
		return err
	}
	j.settledToken, j.settledOutcome = token, outcome
	if o.Is == queue.RunDone && len(o.Result) > 0 && len(o.Result) <= queue.MaxResult {
		if _, err := t.exec(putResult, j.id, string(o.Result)); err != nil {
			return err
		}
	}
	if err := t.release(h); err != nil {
		return err
	}
	if err := t.move(j, d.Event, states.code(d.To), j.fence, about); err != nil {
		return err
	}
	if d.Event == queue.EventSnooze {
		return t.fold(j.id)
	}
	return nil
}

// decided sets in the row what a decision says about it, apart from the state.
func (t *transaction) decided(j *jobRow, d queue.Decision, o *queue.Outcome, detail string) error {
	attempt := int(j.attempt)
	if d.GiveBack {
		j.attempt--
	}
	j.effectsPossible = j.effectsPossible || d.EffectsPossible
	if d.To != queue.StateDone && detail != "" {
		j.lastError = detail
	}
	switch d.RetryAt {
	case queue.RetryNow:
		return t.setDue(j, 0)
	case queue.RetryAsked:
		return t.setDue(j, *o.After)
	case queue.RetryBackoff:
		return t.setDue(j, o.Backoff.Delay(attempt, t.q.random))
	}
	return nil
}

// replay answers a settlement that was recorded before. Its note is what the
// history tells of it beside the reason.
func (t *transaction) replay(j *jobRow, o *queue.Outcome) (queue.Settled, error) {
	job, err := t.describe(j, "")
	if err != nil {
		return queue.Settled{}, err
	}
	var note string
	_, err = t.one(`SELECT detail FROM history WHERE job_id = ? AND event <> ? ORDER BY seq DESC LIMIT 1`,
		[]any{j.id, events.code(queue.EventNote)}, func(r row) error {
			note = strings.TrimPrefix(strings.TrimPrefix(r.text(0), o.Reason), "; ")
			return nil
		})
	return queue.Settled{
		State: job.State, AvailableAt: waitsUntil(j), Attempt: int(j.attempt),
		ExternalEffectsPossible: j.effectsPossible, Note: note, Replay: true,
	}, err
}

// waitsUntil is when a waiting job is due; zero for another.
func waitsUntil(j *jobRow) time.Time {
	if j.state != scheduled && j.state != ready {
		return time.Time{}
	}
	return time.UnixMilli(j.due).UTC()
}

// tooBig is the note that takes the place of a result that is not kept.
func tooBig(o *queue.Outcome) string {
	if len(o.Result) <= queue.MaxResult {
		return ""
	}
	return fmt.Sprintf("the result of %d bytes was not kept: %d are", len(o.Result), queue.MaxResult)
}

// joined is what is not empty of the texts, as one sentence.
func joined(texts ...string) string {
	s := ""
	for _, text := range texts {
		switch {
		case text == "":
		case s == "":
			s = text
		default:
			s += "; " + text
		}
	}
	return s
}

// outcomeDigest tells whether two settlements say the same: what the run was,
// its result, reason and delay, and whether it counts.
func outcomeDigest(o *queue.Outcome) []byte {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(o.Is), o.Result, []byte(o.Reason)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	after := int64(-1)
	if o.After != nil {
		after = int64(*o.After)
	}
	fmt.Fprint(h, after, o.CutShort, o.NotGiven)
	return digest([32]byte(h.Sum(nil)))
}
