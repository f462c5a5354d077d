package queuetest

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

var personRules = rules{
	"a cancelled job is answered as it then stands":                   (*fixture).cancels,
	"a marked job waits no more, whatever its run ends as":            (*fixture).markedEnds,
	"a mark is asked for once":                                        (*fixture).markedOnce,
	"a marked run that is done is done":                               (*fixture).markedDone,
	"a marked run that nobody settles is cancelled":                   (*fixture).markedExpires,
	"a job is closed as what a person found out":                      (*fixture).closes,
	"a requeued job starts anew":                                      (*fixture).requeues,
	"a requeued job may wait":                                         (*fixture).requeuesLater,
	"a job that was quarantined is requeued only as reviewed":         (*fixture).reviewAfterQuarantine,
	"a job that may have done something is requeued only as reviewed": (*fixture).reviewAfterEffects,
	"a review counts until the next run of which nobody knows":        (*fixture).reviewEnds,
	"a note stays in the history and moves nothing":                   (*fixture).notes,
	"a job is named by its kind and key as well":                      (*fixture).byKey,
}

func (f *fixture) cancels() {
	n := newJob("a", "1")
	n.AvailableAt = f.clock.Now().Add(time.Hour)
	id := f.adds(n).ID
	f.clock.Advance(time.Minute)
	job, err := f.Cancel(f.Context(), queue.Ref{ID: id})
	if err != nil || job.State != queue.StateCancelled || !job.FinishedAt.Equal(f.clock.Now()) || string(job.Payload) != `{"n":1}` {
		f.Errorf("%+v, %v", job, err)
	}
	f.clock.Advance(2 * time.Hour)
	if got := f.claims(want("", 9, rule)); len(got) != 0 {
		f.Errorf("claimed %+v", got)
	}
}

func (f *fixture) markedEnds() {
	for _, is := range []queue.RunEnd{queue.RunRetry, queue.RunDead, queue.RunUncertain, queue.RunQuarantine, queue.RunSnooze} {
		kind := "k." + string(is)
		f.add(kind, "1")
		c := f.claim(kind, queue.Rule{Uncertain: queue.UncertainRetry})
		if _, err := f.Cancel(f.Context(), queue.Ref{ID: c.Job.ID}); err != nil {
			f.Fatal(err)
		}
		s := f.settles(c, queue.Outcome{Is: is, Reason: "stopped"})
		job := f.get(c.Job.ID)
		if s.State != queue.StateCancelled || job.State != queue.StateCancelled || !job.ExternalEffectsPossible {
			f.Errorf("%s: %+v, %+v", is, s, job)
		}
		if got := f.claims(want(kind, 1, rule)); len(got) != 0 {
			f.Errorf("%s: claimed again", is)
		}
	}
	f.add("never", "1")
	c := f.claim("never", rule)
	if _, err := f.Cancel(f.Context(), queue.Ref{ID: c.Job.ID}); err != nil {
		f.Fatal(err)
	}
	if s := f.settles(c, queue.Outcome{Is: queue.RunSnooze, NotGiven: true}); s.State != queue.StateCancelled || s.ExternalEffectsPossible || s.Attempt != 0 {
		f.Errorf("never given: %+v", s)
	}
}

func (f *fixture) markedOnce() {
	f.add("a", "1")
	c := f.claim("a", rule)
	first, err := f.Cancel(f.Context(), queue.Ref{ID: c.Job.ID})
	if err != nil || first.State != queue.StateLeased || !first.CancelRequested {
		f.Fatalf("%+v, %v", first, err)
	}
	f.clock.Advance(time.Second)
	before := f.picture()
	again, err := f.Cancel(f.Context(), queue.Ref{ID: c.Job.ID})
	if err != nil || again.State != queue.StateLeased || !again.CancelRequested {
		f.Errorf("again: %+v, %v", again, err)
	}
	f.unchanged(before, "a second mark")
	f.reopen()
	if r := f.renew(c, leaseLength); !r.CancelRequested {
		f.Errorf("after a reopening: %+v", r)
	}
}

func (f *fixture) markedDone() {
	f.add("a", "1")
	c := f.claim("a", rule)
	if _, err := f.Cancel(f.Context(), queue.Ref{ID: c.Job.ID}); err != nil {
		f.Fatal(err)
	}
	if s := f.settles(c, queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`1`)}); s.State != queue.StateDone {
		f.Errorf("%+v", s)
	}
	if job := f.get(c.Job.ID); string(job.Result) != "1" {
		f.Errorf("%+v", job)
	}
}

func (f *fixture) markedExpires() {
	f.add("a", "1")
	c := f.claim("a", rule)
	if _, err := f.Cancel(f.Context(), queue.Ref{ID: c.Job.ID}); err != nil {
		f.Fatal(err)
	}
	f.clock.Advance(leaseLength + margin)
	if got := f.expires(); len(got) != 1 || got[0].To != queue.StateCancelled {
		f.Errorf("expired %+v", got)
	}
	// Requeued, it is as any other.
	job, err := f.Requeue(f.Context(), queue.Ref{ID: c.Job.ID}, queue.Requeue{Reviewed: true})
	if err != nil || job.CancelRequested {
		f.Errorf("requeued %+v, %v", job, err)
	}
	c = f.claim("a", rule)
	if s := f.settles(c, queue.Outcome{Is: queue.RunRetry, After: after(0)}); s.State != queue.StateScheduled {
		f.Errorf("its next run: %+v", s)
	}
}

func (f *fixture) closes() {
	for _, from := range []queue.RunEnd{queue.RunDead, queue.RunQuarantine} {
		for _, as := range []queue.State{queue.StateDone, queue.StateDead, queue.StateCancelled} {
			kind := string(from) + "." + string(as)
			f.add(kind, "1")
			c := f.claim(kind, rule)
			f.settles(c, queue.Outcome{Is: from, Reason: "no"})
			f.clock.Advance(time.Second)
			finding := queue.Finding{As: as, Note: "I looked: " + strings.Repeat("é", 100)}
			if as == queue.StateDone {
				finding.Result = jsontext.Value(` {"sent":true} `)
			}
			job, err := f.CloseJob(f.Context(), queue.Ref{ID: c.Job.ID}, finding)
			if err != nil || job.State != as || !job.FinishedAt.Equal(f.clock.Now()) || string(job.Result) != strings.TrimSpace(string(finding.Result)) {
				f.Errorf("%s: %+v, %v", kind, job, err)
			}
			if !strings.Contains(job.LastError, "no") {
				f.Errorf("%s: the last error is %q", kind, job.LastError)
			}
			story := f.story(c.Job.ID)
			if last := story[len(story)-1]; last.Event != queue.EventClose || last.To != as || last.Detail != finding.Note {
				f.Errorf("%s: history %+v", kind, last)
			}
		}
	}
	f.counted()
}

func (f *fixture) requeues() {
	id := f.add("a", "1").ID
	runs, _ := f.fails("a", queue.Rule{MaxAttempts: 3})
	before := f.get(id)
	f.clock.Advance(time.Minute)
	job, err := f.Requeue(f.Context(), queue.Ref{ID: id}, queue.Requeue{})
	if err != nil || job.State != queue.StateReady || job.Attempt != 0 || job.Fence != before.Fence || !job.FinishedAt.IsZero() ||
		!job.AvailableAt.Equal(f.clock.Now()) || string(job.Payload) != `{"n":1}` || job.IdempotencyKey != before.IdempotencyKey {
		f.Errorf("%+v, %v", job, err)
	}
	if again, _ := f.fails("a", queue.Rule{MaxAttempts: 3}); again != runs {
		f.Errorf("it had %d runs, then %d", runs, again)
	}
	if got := f.get(id).Fence; got != before.Fence+int64(runs) {
		f.Errorf("fence %d after %d and %d more runs", got, before.Fence, runs)
	}
	// One that was cancelled before it ever ran.
	ref := queue.Ref{ID: f.add("b", "1").ID}
	if _, err := f.Cancel(f.Context(), ref); err != nil {
		f.Fatal(err)
	}
	if job, err := f.Requeue(f.Context(), ref, queue.Requeue{}); err != nil || job.State != queue.StateReady {
		f.Errorf("cancelled before: %+v, %v", job, err)
	}
}

func (f *fixture) requeuesLater() {
	id := f.add("a", "1").ID
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead})
	job, err := f.Requeue(f.Context(), queue.Ref{ID: id}, queue.Requeue{Delay: queue.MaxDelay})
	if err != nil || job.State != queue.StateScheduled || !job.AvailableAt.Equal(f.clock.Now().Add(queue.MaxDelay)) {
		f.Errorf("%+v, %v", job, err)
	}
	f.clock.Advance(queue.MaxDelay)
	f.claim("a", rule)
}

// needsReview expects a job that is requeued only as reviewed.
func (f *fixture) needsReview(id int64, when string) {
	f.Helper()
	before := f.picture()
	if job := f.get(id); !job.NeedsReview {
		f.Errorf("%s: shown as needing no review: %+v", when, job)
	}
	_, err := f.Requeue(f.Context(), queue.Ref{ID: id}, queue.Requeue{})
	f.refused(err, queue.ErrConflict, "reviewed")
	_, err = f.Requeue(f.Context(), queue.Ref{ID: id}, queue.Requeue{Delay: time.Hour})
	f.refused(err, queue.ErrConflict, "reviewed")
	f.unchanged(before, "a requeue without a review "+when)
}

func (f *fixture) reviewAfterQuarantine() {
	id := f.add("a", "1").ID
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunQuarantine})
	f.needsReview(id, "when it is quarantined")
	ref := queue.Ref{ID: id}
	if _, err := f.CloseJob(f.Context(), ref, queue.Finding{As: queue.StateDead}); err != nil {
		f.Fatal(err)
	}
	f.needsReview(id, "when it was closed as dead")
	if _, err := f.CloseJob(f.Context(), ref, queue.Finding{As: queue.StateCancelled}); err != nil {
		f.Fatal(err)
	}
	f.needsReview(id, "when it was closed as cancelled")
	if _, err := f.Requeue(f.Context(), ref, queue.Requeue{Reviewed: true}); err != nil {
		f.Fatal(err)
	}
	f.claim("a", rule)

	other := f.add("b", "1").ID
	f.settles(f.claim("b", rule), queue.Outcome{Is: queue.RunQuarantine})
	if _, err := f.Cancel(f.Context(), queue.Ref{ID: other}); err != nil {
		f.Fatal(err)
	}
	f.needsReview(other, "when it was cancelled")
}

func (f *fixture) reviewAfterEffects() {
	id := f.add("a", "1").ID
	c := f.claim("a", rule)
	if _, err := f.Cancel(f.Context(), queue.Ref{ID: id}); err != nil {
		f.Fatal(err)
	}
	f.settles(c, queue.Outcome{Is: queue.RunRetry})
	f.needsReview(id, "when it was cancelled while it ran")

	id = f.add("b", "1").ID
	f.settles(f.claim("b", queue.Rule{Uncertain: queue.UncertainRepeatable}), queue.Outcome{Is: queue.RunUncertain})
	if _, err := f.Cancel(f.Context(), queue.Ref{ID: id}); err != nil {
		f.Fatal(err)
	}
	f.needsReview(id, "when it was cancelled after a run of which nobody knows")
}

func (f *fixture) reviewEnds() {
	ref := queue.Ref{ID: f.add("a", "1").ID}
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunQuarantine})
	if _, err := f.Requeue(f.Context(), ref, queue.Requeue{Reviewed: true}); err != nil {
		f.Fatal(err)
	}
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead})
	if job, err := f.Requeue(f.Context(), ref, queue.Requeue{}); err != nil || job.NeedsReview {
		f.Errorf("after a known failure: %+v, %v", job, err)
	}
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunQuarantine})
	f.needsReview(ref.ID, "when it is quarantined again")
}

func (f *fixture) notes() {
	id := f.add("a", "1").ID
	c := f.claim("a", rule)
	f.settles(c, queue.Outcome{Is: queue.RunDead})
	f.clock.Advance(time.Minute)
	before := f.get(id)
	for _, fence := range []int64{c.Lease.Fence, 0} {
		if err := f.Note(f.Context(), id, fence, "late: "+strings.Repeat("x", 2*queue.MaxReason)); err != nil {
			f.Fatal(err)
		}
		story := f.story(id)
		last := story[len(story)-1]
		if last.Event != queue.EventNote || last.From != queue.StateDead || last.To != queue.StateDead || last.Fence != fence ||
			!last.At.Equal(f.clock.Now()) || !strings.HasPrefix(last.Detail, "late: x") || len(last.Detail) > queue.MaxReason {
			f.Errorf("history %+v", last)
		}
	}
	if now := f.get(id); now.UpdatedAt != before.UpdatedAt || now.Fence != before.Fence || now.LastError != before.LastError || now.State != before.State {
		f.Errorf("was %+v, is %+v", before, now)
	}
}

func (f *fixture) byKey() {
	job := f.add("a", "x/y z")
	ref := queue.Ref{Kind: "a", Key: "x/y z"}
	if got, err := f.Get(f.Context(), ref); err != nil || got.ID != job.ID {
		f.Errorf("get: %+v, %v", got, err)
	}
	if got, err := f.Cancel(f.Context(), ref); err != nil || got.ID != job.ID {
		f.Errorf("cancel: %+v, %v", got, err)
	}
	if got, err := f.Requeue(f.Context(), ref, queue.Requeue{}); err != nil || got.ID != job.ID {
		f.Errorf("requeue: %+v, %v", got, err)
	}
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead})
	if got, err := f.CloseJob(f.Context(), ref, queue.Finding{As: queue.StateDone}); err != nil || got.ID != job.ID {
		f.Errorf("close: %+v, %v", got, err)
	}
	if got, err := f.Rerun(f.Context(), ref, queue.Rerun{Key: "again"}); err != nil || got.Job.ID == job.ID {
		f.Errorf("rerun: %+v, %v", got, err)
	}
}
