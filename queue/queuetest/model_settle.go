package queuetest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// word is what a token said and what it was answered.
type word struct {
	token   queue.Token
	outcome string
	answer  queue.Settled
}

// Settle ends a run.
func (q *modelQueue) Settle(ctx context.Context, s queue.Settlement) (settled queue.Settled, err error) {
	if err := s.Check(); err != nil {
		return settled, err
	}
	s.Outcome.Reason = queue.CutText(s.Outcome.Reason, queue.MaxReason)
	err = q.write(ctx, func(m *moment) error {
		settled, err = m.settle(s)
		return err
	})
	return settled, err
}

func (m *moment) settle(s queue.Settlement) (queue.Settled, error) {
	r, err := m.find(queue.Ref{ID: s.ID})
	if err != nil {
		return queue.Settled{}, err
	}
	said := saying(&s.Outcome)
	if w := r.settled; w != nil && w.token == s.Token && w.outcome == said {
		answer := w.answer
		answer.Replay = true
		if r.waits() {
			answer.AvailableAt = r.job.AvailableAt
		}
		answer.State, _ = m.stands(r)
		return answer, nil
	}
	if err := m.live(r, s.Token); err != nil {
		return queue.Settled{}, err
	}
	d := queue.Decide(s.Outcome, m.standing(r))
	left := ""
	if len(s.Outcome.Result) > queue.MaxResult {
		left = fmt.Sprintf("the result of %d bytes was not kept", len(s.Outcome.Result))
	}
	m.apply(r, s.Outcome, d, joined(s.Outcome.Reason, left, d.Note))
	if s.Outcome.Is == queue.RunDone && left == "" {
		r.job.Result = bytes.Clone(s.Outcome.Result)
	}
	if d.Event == queue.EventSnooze {
		r.fold()
	}
	answer := queue.Settled{
		State: d.To, Attempt: r.job.Attempt,
		ExternalEffectsPossible: r.job.ExternalEffectsPossible, Note: joined(left, d.Note),
	}
	if r.waits() {
		answer.AvailableAt = r.job.AvailableAt
	}
	r.settled = &word{s.Token, said, answer}
	return answer, nil
}

// saying is what makes two outcomes the same to a replay.
func saying(o *queue.Outcome) string {
	after := "none"
	if o.After != nil {
		after = o.After.String()
	}
	return fmt.Sprintf("%s %q %q %s %v %v", o.Is, o.Result, o.Reason, after, o.CutShort, o.NotGiven)
}

func (r *record) waits() bool {
	return r.job.State == queue.StateScheduled || r.job.State == queue.StateReady
}

// standing is what decides where the job of a run goes.
func (m *moment) standing(r *record) queue.Standing {
	return queue.Standing{
		Marked: r.job.CancelRequested, Attempt: r.job.Attempt,
		MaxAttempts: r.job.MaxAttempts, Uncertain: r.held.rule,
	}
}

// apply ends a run as it was decided.
func (m *moment) apply(r *record, o queue.Outcome, d queue.Decision, detail string) {
	about := queue.Entry{Worker: r.held.worker, Attempt: r.job.Attempt, Detail: detail}
	switch d.RetryAt {
	case queue.RetryNow:
		m.setDue(r, 0)
	case queue.RetryAsked:
		m.setDue(r, *o.After)
	case queue.RetryBackoff:
		m.setDue(r, o.Backoff.Delay(r.job.Attempt, m.random))
	}
	if d.GiveBack {
		r.job.Attempt--
	}
	r.job.ExternalEffectsPossible = r.job.ExternalEffectsPossible || d.EffectsPossible
	if d.To != queue.StateDone && detail != "" {
		r.job.LastError = detail
	}
	r.held = nil
	if err := m.move(r, d.Event, d.To, about); err != nil {
		panic(err) // the rules contradict themselves
	}
}

// fold counts a claim and the snooze that ended it where the pair before was the
// same.
func (r *record) fold() {
	n := len(r.history)
	if n < 4 {
		return
	}
	before, last := r.history[n-4:n-2], r.history[n-2:]
	for i := range last {
		a, b := before[i], last[i]
		if a.Event != b.Event || a.From != b.From || a.To != b.To || a.Attempt != b.Attempt ||
			a.Worker != b.Worker || a.Detail != b.Detail || last[0].Event != queue.EventClaim {
			return
		}
	}
	for i := range last {
		before[i].Count++
		before[i].LastAt, before[i].LastFence = last[i].At, last[i].Fence
	}
	r.history = r.history[:n-2]
}

// Note keeps in the history what became known of a run after it was over.
func (q *modelQueue) Note(ctx context.Context, id, fence int64, text string) error {
	ref := queue.Ref{ID: id}
	if err := ref.Check(); err != nil {
		return err
	}
	return q.write(ctx, func(m *moment) error {
		r, err := m.find(ref)
		if err != nil {
			return err
		}
		if fence < 0 || fence > r.job.Fence {
			return fmt.Errorf("fence %d: job %d has come to %d: %w", fence, id, r.job.Fence, queue.ErrInvalid)
		}
		m.record(r, queue.Entry{Event: queue.EventNote, From: r.job.State, To: r.job.State, Detail: queue.CutText(text, queue.MaxReason)})
		last := &r.history[len(r.history)-1]
		last.Fence, last.LastFence = fence, fence
		return nil
	})
}
