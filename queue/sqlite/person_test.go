package sqlite_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// brings makes a job of kind "a" that stands in the given state.
func (f *fixture) brings(key string, state queue.State) queue.Ref {
	f.Helper()
	n := newJob("a", key)
	switch state {
	case queue.StateScheduled:
		n.AvailableAt = f.clock.Now().Add(time.Hour)
	case queue.StateReady:
	default:
		n.Priority = 50 // so that a claim finds this one
	}
	job := f.add(n)
	ref := queue.Ref{ID: job.ID}
	ends := map[queue.State]queue.RunEnd{
		queue.StateDone: queue.RunDone, queue.StateDead: queue.RunDead, queue.StateQuarantined: queue.RunUncertain,
	}
	switch end, ok := ends[state]; {
	case ok:
		f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: end, Reason: "because"})
	case state == queue.StateLeased:
		f.claimOne("a", queue.Rule{})
	case state == queue.StateCancelled:
		if _, err := f.Cancel(f.Context(), ref); err != nil {
			f.Fatal(err)
		}
	}
	if got := f.get(job.ID).State; got != state {
		f.Fatalf("the job is %s, want %s", got, state)
	}
	return ref
}

func TestPersonsWordInEachState(t *testing.T) {
	t.Parallel()
	const refused = queue.State("refused")
	for state, want := range map[queue.State]struct{ cancel, close, requeue queue.State }{
		queue.StateScheduled:   {queue.StateCancelled, refused, refused},
		queue.StateReady:       {queue.StateCancelled, refused, refused},
		queue.StateLeased:      {queue.StateLeased, refused, refused},
		queue.StateDone:        {refused, refused, refused},
		queue.StateDead:        {queue.StateCancelled, queue.StateDone, queue.StateReady},
		queue.StateQuarantined: {queue.StateCancelled, queue.StateDone, queue.StateReady},
		queue.StateCancelled:   {refused, refused, queue.StateReady},
	} {
		for _, c := range []struct {
			name string
			to   queue.State
			act  func(*fixture, queue.Ref) (queue.Job, error)
		}{
			{"cancel", want.cancel, func(f *fixture, r queue.Ref) (queue.Job, error) { return f.Cancel(f.Context(), r) }},
			{"close", want.close, func(f *fixture, r queue.Ref) (queue.Job, error) {
				return f.CloseJob(f.Context(), r, queue.Finding{As: queue.StateDone, Note: "seen", Result: jsontext.Value(`{"ok":true}`)})
			}},
			{"requeue", want.requeue, func(f *fixture, r queue.Ref) (queue.Job, error) {
				return f.Requeue(f.Context(), r, queue.Requeue{Reviewed: true})
			}},
		} {
			f := newFixture(t)
			ref := f.brings("1", state)
			before := f.get(ref.ID)
			f.clock.Advance(time.Second)
			job, err := c.act(f, queue.Ref{Kind: "a", Key: "1"})
			if c.to == refused {
				if !errors.Is(err, queue.ErrConflict) {
					t.Errorf("%s of a %s job: %v, want a conflict", c.name, state, err)
				}
				if after := f.get(ref.ID); after.State != state || !after.UpdatedAt.Equal(before.UpdatedAt) {
					t.Errorf("a refused %s changed the job: %+v", c.name, after)
				}
				continue
			}
			if err != nil || job.State != c.to || job.ID != ref.ID {
				t.Errorf("%s of a %s job: %s, %v, want %s", c.name, state, job.State, err, c.to)
			}
			if c.to == queue.StateDone && string(job.Result) != `{"ok":true}` {
				t.Errorf("closed with result %s", job.Result)
			}
			if c.name == "requeue" && (job.Attempt != 0 || job.CancelRequested || job.NeedsReview || !job.FinishedAt.IsZero() || !job.AvailableAt.Equal(f.clock.Now())) {
				t.Errorf("requeued: %+v", job)
			}
		}
	}
}

func TestRequeueWantsAReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	quarantined := f.brings("1", queue.StateQuarantined)
	dead := f.brings("2", queue.StateDead)
	if _, err := f.Requeue(t.Context(), dead, queue.Requeue{Delay: time.Minute}); err != nil {
		t.Errorf("a dead job whose outcome is known: %v", err)
	}
	if job := f.get(dead.ID); job.State != queue.StateScheduled || !job.AvailableAt.Equal(start.Add(time.Minute)) {
		t.Errorf("requeued with a delay: %+v", job)
	}
	// Whatever it is closed or cancelled to, the doubt stays.
	for _, step := range []func() error{
		func() error { return nil },
		func() error {
			_, err := f.CloseJob(t.Context(), quarantined, queue.Finding{As: queue.StateDead})
			return err
		},
		func() error { _, err := f.Cancel(t.Context(), quarantined); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Requeue(t.Context(), quarantined, queue.Requeue{}); !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), "reviewed") {
			t.Errorf("as %s: %v", f.get(quarantined.ID).State, err)
		}
	}
	if job, err := f.Requeue(t.Context(), quarantined, queue.Requeue{Reviewed: true}); err != nil || job.NeedsReview || job.ExternalEffectsPossible {
		t.Errorf("reviewed: %+v, %v", job, err)
	}
	// The doubt belongs to the runs since the last requeue.
	f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunDead})
	if _, err := f.Requeue(t.Context(), quarantined, queue.Requeue{}); err != nil {
		t.Errorf("after a run with a known end: %v", err)
	}
}

func TestRequeueWithAnOpenEffect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	f.begins(c, "charge", false)
	f.settles(c, queue.Outcome{Is: queue.RunRetry})
	_, err := f.Requeue(t.Context(), queue.Ref{ID: 1}, queue.Requeue{Reviewed: true})
	if !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), `"charge"`) {
		t.Errorf("requeue: %v, want a conflict that names the effect", err)
	}
	job := f.get(1)
	if len(job.Effects) != 1 || job.Effects[0].Name != "charge" || job.Effects[0].State != queue.EffectBegun || job.Effects[0].Fence != 1 {
		t.Errorf("effects: %+v", job.Effects)
	}
}

func TestMarkedJobNeverWaitsAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	f.claimOne("a", queue.Rule{Uncertain: queue.UncertainRepeatable})
	for range 2 { // the second changes nothing
		if _, err := f.Cancel(t.Context(), queue.Ref{ID: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if h, err := f.History(t.Context(), 1, 0); err != nil || len(h) != 3 || h[2].Event != queue.EventCancel || h[2].To != queue.StateLeased {
		t.Errorf("history: %+v, %v", h, err)
	}
	f.clock.Advance(11 * time.Second)
	if got := f.expires(); len(got) != 1 || got[0].To != queue.StateCancelled {
		t.Errorf("expired: %+v", got)
	}
	if job := f.get(1); job.State != queue.StateCancelled || !job.ExternalEffectsPossible {
		t.Errorf("job: %+v", job)
	}
}

func TestNoteMovesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("1", queue.StateQuarantined)
	if err := f.Note(t.Context(), 1, 1, "it said done after all"); err != nil {
		t.Fatal(err)
	}
	h, err := f.History(t.Context(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := h[len(h)-1]
	if last.From != last.To || last.To != queue.StateQuarantined || last.Fence != 1 || last.Detail != "it said done after all" {
		t.Errorf("note: %+v", last)
	}
	if err := f.Note(t.Context(), 9, 1, "x"); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("note on an unknown job: %v", err)
	}
}
