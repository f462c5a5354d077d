package queuetest

import (
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var attemptRules = rules{
	"a retry waits twice as long each time, up to the longest":         (*fixture).backoff,
	"jitter is drawn from chance, between its bounds":                  (*fixture).jitter,
	"a delay that the handler asks for goes before the backoff":        (*fixture).askedDelay,
	"the enqueuer's limit goes before the handler's":                   (*fixture).enqueuersLimit,
	"the handler's limit counts where the enqueuer named none":         (*fixture).handlersLimit,
	"without a limit there are five attempts":                          (*fixture).defaultLimit,
	"a run that never had its job uses up no attempt":                  (*fixture).neverGiven,
	"our own shutdown uses up no attempt and makes no job dead":        (*fixture).cutShort,
	"a snoozed job keeps all its attempts":                             (*fixture).snoozes,
	"an unknown outcome is never dead, whatever is left of attempts":   (*fixture).unknownIsNeverDead,
	"the last error stays until another takes its place":               (*fixture).lastError,
	"a done job keeps its result and its last error":                   (*fixture).doneKeeps,
	"what may have happened outside is remembered until it is cleared": (*fixture).effectsStay,
}

func (f *fixture) backoff() {
	n := newJob("a", "1")
	n.MaxAttempts = 9
	f.adds(n)
	for i, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		c := f.claim("a", rule)
		s := f.settles(c, queue.Outcome{Is: queue.RunRetry, Reason: "no"})
		if want := f.clock.Now().Add(time.Duration(seconds) * time.Second); s.State != queue.StateScheduled || !s.AvailableAt.Equal(want) || s.Attempt != i+1 {
			f.Errorf("attempt %d: %+v, want %v", i+1, s, want)
		}
		f.clock.Advance(time.Duration(seconds) * time.Second)
	}
	c := f.claim("a", rule)
	if s := f.settles(c, queue.Outcome{Is: queue.RunRetry, Reason: "no"}); s.State != queue.StateDead || s.Note == "" {
		f.Errorf("the last attempt: %+v", s)
	}
}

func (f *fixture) jitter() {
	draws := []float64{0, 0.25, 0.999}
	next := 0
	chance := newFixtureWith(f.T, f.engine, func() float64 { next++; return draws[next-1] })
	b := queue.Backoff{Base: 8 * time.Second, Max: time.Minute, Jitter: 0.5}
	for i, draw := range draws {
		chance.add("a", fmt.Sprint(i))
		s := chance.settles(chance.claim("a", rule), queue.Outcome{Is: queue.RunRetry, Backoff: b})
		want := chance.clock.Now().Add(b.Delay(1, func() float64 { return draw })).Truncate(time.Millisecond)
		if got := s.AvailableAt.Truncate(time.Millisecond); !got.Equal(want) {
			f.Errorf("drawn %v: due %v, want %v", draw, got, want)
		}
	}
	// Without jitter nothing is drawn: there is nothing left.
	chance.add("b", "1")
	chance.settles(chance.claim("b", rule), queue.Outcome{Is: queue.RunRetry, Reason: "no"})
}

func (f *fixture) askedDelay() {
	f.add("a", "1")
	s := f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunRetry, After: after(3 * time.Hour), Backoff: queue.Backoff{Base: time.Second, Max: time.Minute}})
	if !s.AvailableAt.Equal(f.clock.Now().Add(3 * time.Hour)) {
		f.Errorf("due %v", s.AvailableAt)
	}
	f.add("b", "1")
	s = f.settles(f.claim("b", rule), queue.Outcome{Is: queue.RunRetry, After: after(0)})
	if !s.AvailableAt.Equal(f.clock.Now()) {
		f.Errorf("without a delay: due %v", s.AvailableAt)
	}
	f.claim("b", rule)
}

// fails lets a job fail until it waits no more.
func (f *fixture) fails(kind string, by queue.Rule) (runs int, job queue.Job) {
	f.Helper()
	for runs < 100 {
		c := f.claims(want(kind, 1, by))
		if len(c) == 0 {
			return runs, job
		}
		runs++
		f.settles(c[0], queue.Outcome{Is: queue.RunRetry, Reason: "no", After: after(0)})
		job = f.get(c[0].Job.ID)
	}
	f.Fatal("it never ends")
	return
}

func (f *fixture) enqueuersLimit() {
	for _, limit := range []int{1, 2, 7} {
		n := newJob("a", fmt.Sprint(limit))
		n.MaxAttempts = limit
		f.adds(n)
		runs, job := f.fails("a", queue.Rule{MaxAttempts: 3})
		if runs != limit || job.State != queue.StateDead || job.MaxAttempts != limit || job.NamedAttempts != limit {
			f.Errorf("limit %d: %d runs, %+v", limit, runs, job)
		}
	}
}

func (f *fixture) handlersLimit() {
	for _, limit := range []int{1, 2, 7} {
		f.add("a", fmt.Sprint(limit))
		runs, job := f.fails("a", queue.Rule{MaxAttempts: limit})
		if runs != limit || job.State != queue.StateDead || job.MaxAttempts != limit || job.NamedAttempts != 0 {
			f.Errorf("limit %d: %d runs, %+v", limit, runs, job)
		}
	}
	// The present holder's counts, not the one's before.
	id := f.add("b", "1").ID
	f.settles(f.claim("b", queue.Rule{MaxAttempts: 9}), queue.Outcome{Is: queue.RunRetry, After: after(0)})
	if s := f.settles(f.claim("b", queue.Rule{MaxAttempts: 2}), queue.Outcome{Is: queue.RunRetry, After: after(0)}); s.State != queue.StateDead {
		f.Errorf("at the second holder's limit: %+v", s)
	}
	if got := f.get(id); got.MaxAttempts != 2 {
		f.Errorf("%+v", got)
	}
}

func (f *fixture) defaultLimit() {
	f.add("a", "1")
	if runs, job := f.fails("a", queue.Rule{}); runs != queue.DefaultMaxAttempts || job.State != queue.StateDead {
		f.Errorf("%d runs, %+v", runs, job)
	}
}

func (f *fixture) neverGiven() {
	n := newJob("a", "1")
	n.MaxAttempts = 1
	id := f.adds(n).ID
	for _, is := range []queue.RunEnd{queue.RunSnooze, queue.RunRetry, queue.RunUncertain} {
		c := f.claim("a", queue.Rule{Uncertain: queue.UncertainAsk})
		if c.Job.Attempt != 1 {
			f.Errorf("claimed as attempt %d", c.Job.Attempt)
		}
		s := f.settles(c, queue.Outcome{Is: is, NotGiven: true, Reason: "it did not start"})
		if s.State != queue.StateReady || s.Attempt != 0 || s.ExternalEffectsPossible {
			f.Errorf("%s, never given: %+v", is, s)
		}
	}
	if job := f.get(id); job.ExternalEffectsPossible || job.NeedsReview {
		f.Errorf("%+v", job)
	}
	// Its own data is to blame: dead, although it was never given.
	if s := f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead, NotGiven: true}); s.State != queue.StateDead {
		f.Errorf("dead, never given: %+v", s)
	}
}

func (f *fixture) cutShort() {
	n := newJob("a", "1")
	n.MaxAttempts = 1
	f.adds(n)
	for range 3 {
		s := f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunRetry, CutShort: true, Reason: "stopping"})
		if s.State != queue.StateReady || s.Attempt != 0 {
			f.Errorf("retry: %+v", s)
		}
		s = f.settles(f.claim("a", queue.Rule{Uncertain: queue.UncertainRepeatable}), queue.Outcome{Is: queue.RunUncertain, CutShort: true, Reason: "killed"})
		if s.State != queue.StateReady || s.Attempt != 0 || !s.ExternalEffectsPossible {
			f.Errorf("uncertain: %+v", s)
		}
	}
	s := f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunRetry, CutShort: true, After: after(time.Minute)})
	if s.State != queue.StateScheduled || s.Attempt != 0 || !s.AvailableAt.Equal(f.clock.Now().Add(time.Minute)) {
		f.Errorf("with a delay of its own: %+v", s)
	}
	f.clock.Advance(time.Minute)
	if s := f.settles(f.claim("a", queue.Rule{Uncertain: queue.UncertainAsk}), queue.Outcome{Is: queue.RunUncertain, CutShort: true}); s.State != queue.StateQuarantined {
		f.Errorf("a run that nobody may repeat: %+v", s)
	}
}

func (f *fixture) snoozes() {
	n := newJob("a", "1")
	n.MaxAttempts = 2
	f.adds(n)
	for range 5 {
		if s := f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunSnooze, Reason: "later", After: after(time.Second)}); s.Attempt != 0 || s.State != queue.StateScheduled {
			f.Errorf("snoozed: %+v", s)
		}
		f.clock.Advance(time.Second)
	}
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunRetry, After: after(0)})
	if s := f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunSnooze}); s.Attempt != 1 {
		f.Errorf("snoozed in its second attempt: %+v", s)
	}
	if c := f.claim("a", rule); c.Job.Attempt != 2 {
		f.Errorf("claimed as attempt %d", c.Job.Attempt)
	}
}

func (f *fixture) unknownIsNeverDead() {
	for _, by := range []queue.UncertainRule{"", queue.UncertainAsk, queue.UncertainRepeatable} {
		kind := "k" + string(by)
		n := newJob(kind, "1")
		n.MaxAttempts = 1
		f.adds(n)
		if s := f.settles(f.claim(kind, queue.Rule{Uncertain: by}), queue.Outcome{Is: queue.RunUncertain}); s.State != queue.StateQuarantined || !s.ExternalEffectsPossible {
			f.Errorf("by rule %q: %+v", by, s)
		}
	}
}

func (f *fixture) lastError() {
	id := f.add("a", "1").ID
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunRetry, Reason: "first", After: after(0)})
	c := f.claim("a", rule)
	if c.Job.LastError != "first" {
		f.Errorf("while it runs again: %q", c.Job.LastError)
	}
	f.settles(c, queue.Outcome{Is: queue.RunSnooze, Reason: "second"})
	if got := f.get(id).LastError; got != "second" {
		f.Errorf("%q", got)
	}
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead})
	if got := f.get(id).LastError; got != "second" {
		f.Errorf("a run without a reason: %q", got)
	}
}

func (f *fixture) doneKeeps() {
	f.add("a", "1")
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunRetry, Reason: "first", After: after(0)})
	c := f.claim("a", rule)
	s := f.settles(c, queue.Outcome{Is: queue.RunDone, Result: []byte(" {\"n\" : 1.0}\n"), Reason: "fine"})
	job := f.get(c.Job.ID)
	if s.State != queue.StateDone || string(job.Result) != `{"n" : 1.0}` || !job.FinishedAt.Equal(f.clock.Now()) || job.LastError != "first" {
		f.Errorf("%+v", job)
	}
	f.add("b", "1")
	c = f.claim("b", rule)
	f.settles(c, queue.Outcome{Is: queue.RunDone})
	if job := f.get(c.Job.ID); job.Result != nil {
		f.Errorf("a result that nobody gave: %s", job.Result)
	}
}

func (f *fixture) effectsStay() {
	id := f.add("a", "1").ID
	f.settles(f.claim("a", queue.Rule{Uncertain: queue.UncertainRepeatable}), queue.Outcome{Is: queue.RunUncertain, After: nil})
	f.clock.Advance(time.Second)
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead, Reason: "no"})
	if job := f.get(id); !job.ExternalEffectsPossible || !job.NeedsReview || job.State != queue.StateDead {
		f.Errorf("%+v", job)
	}
	if _, err := f.Requeue(f.Context(), queue.Ref{ID: id}, queue.Requeue{Reviewed: true}); err != nil {
		f.Fatal(err)
	}
	if job := f.get(id); job.ExternalEffectsPossible || job.NeedsReview {
		f.Errorf("after a review: %+v", job)
	}
}
