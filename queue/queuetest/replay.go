package queuetest

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

var replayRules = rules{
	"the same settlement again is answered as before":        (*fixture).sameSettlement,
	"another outcome under the same token is refused":        (*fixture).otherOutcome,
	"what happened to a job since ends the replay":           (*fixture).replayEnds,
	"a promotion does not end the replay":                    (*fixture).promotionEndsNoReplay,
	"a replay is one after a reopening and from anywhere":    (*fixture).replayAnywhere,
	"a reason that is too long is cut, and cut the same way": (*fixture).longReason,
	"a result that is too long is left out with a note":      (*fixture).longResult,
}

func (f *fixture) sameSettlement() {
	for i, o := range []queue.Outcome{
		{Is: queue.RunDone, Result: jsontext.Value(`{"a":1}`)},
		{Is: queue.RunDone},
		{Is: queue.RunRetry, Reason: "no answer", After: after(time.Minute)},
		{Is: queue.RunRetry, Reason: "no answer", Backoff: queue.Backoff{Base: time.Hour, Max: time.Hour, Jitter: 1}},
		{Is: queue.RunRetry, Reason: "stop", CutShort: true},
		{Is: queue.RunDead, Reason: "gone"},
		{Is: queue.RunUncertain, Reason: "killed"},
		{Is: queue.RunQuarantine, Reason: "who knows"},
		{Is: queue.RunSnooze, Reason: "later", After: after(time.Minute)},
		{Is: queue.RunSnooze, NotGiven: true},
	} {
		kind := numbered(i)
		f.add(kind, "1")
		c := f.claim(kind, rule)
		first := f.settles(c, o)
		if first.Replay {
			f.Errorf("%+v: a replay at once", o)
		}
		f.clock.Advance(500 * time.Millisecond)
		before := f.picture()
		for range 2 {
			again := f.settles(c, o)
			if again.Replay = !again.Replay; again != first {
				f.Errorf("%+v: answered %+v, then %+v", o, first, again)
			}
		}
		f.unchanged(before, "a replay")
	}
}

func (f *fixture) otherOutcome() {
	f.add("a", "1")
	c := f.claim("a", rule)
	said := queue.Outcome{Is: queue.RunRetry, Reason: "no answer", After: after(time.Minute)}
	f.settles(c, said)
	before := f.picture()
	for what, change := range map[string]func(*queue.Outcome){
		"what it was":  func(o *queue.Outcome) { o.Is = queue.RunSnooze },
		"reason":       func(o *queue.Outcome) { o.Reason = "no answer " },
		"delay":        func(o *queue.Outcome) { o.After = after(time.Minute + 1) },
		"no delay":     func(o *queue.Outcome) { o.After = nil },
		"cut short":    func(o *queue.Outcome) { o.CutShort = true },
		"never given":  func(o *queue.Outcome) { o.NotGiven = true },
		"all of it":    func(o *queue.Outcome) { *o = queue.Outcome{Is: queue.RunDone} },
		"another word": func(o *queue.Outcome) { o.Reason, o.After = "", nil },
	} {
		o := said
		change(&o)
		if _, err := f.settle(c, o); err == nil {
			f.Errorf("another %s: taken", what)
		} else {
			f.refused(err, queue.ErrLeaseLost)
		}
	}
	f.unchanged(before, "another outcome")

	f.add("b", "1")
	c = f.claim("b", rule)
	f.settles(c, queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`1`)})
	_, err := f.settle(c, queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`2`)})
	f.refused(err, queue.ErrLeaseLost)
}

func (f *fixture) replayEnds() {
	dead := queue.Outcome{Is: queue.RunDead, Reason: "gone"}
	snooze := queue.Outcome{Is: queue.RunSnooze, Reason: "later"}
	for what, c := range map[string]struct {
		said  queue.Outcome
		since func(ref queue.Ref) error
	}{
		"cancel": {dead, func(r queue.Ref) error { _, err := f.Cancel(f.Context(), r); return err }},
		"close": {dead, func(r queue.Ref) error {
			_, err := f.CloseJob(f.Context(), r, queue.Finding{As: queue.StateDead})
			return err
		}},
		"requeue": {dead, func(r queue.Ref) error { _, err := f.Requeue(f.Context(), r, queue.Requeue{}); return err }},
		"claim":   {snooze, func(r queue.Ref) error { _, err := f.Claim(f.Context(), want("claim", 1, rule)); return err }},
		"expiry": {snooze, func(r queue.Ref) error {
			_, err := f.Claim(f.Context(), want("expiry", 1, rule))
			f.clock.Advance(leaseLength + margin)
			f.expires()
			return err
		}},
		"again": {snooze, func(r queue.Ref) error {
			f.settles(f.claim("again", rule), snooze)
			return nil
		}},
	} {
		f.add(what, "1")
		run := f.claim(what, rule)
		f.settles(run, c.said)
		if err := c.since(queue.Ref{ID: run.Job.ID}); err != nil {
			f.Fatalf("%s: %v", what, err)
		}
		before := f.picture()
		if _, err := f.settle(run, c.said); err == nil {
			f.Errorf("after %s: taken", what)
		} else {
			f.refused(err, queue.ErrLeaseLost)
		}
		f.unchanged(before, "a late settlement")
	}
}

func (f *fixture) promotionEndsNoReplay() {
	f.add("a", "1")
	c := f.claim("a", rule)
	said := queue.Outcome{Is: queue.RunRetry, Reason: "no answer", After: after(time.Minute)}
	first := f.settles(c, said)
	f.clock.Advance(2 * time.Minute)
	f.promotes(stand{ref: queue.Ref{ID: c.Job.ID}})
	again := f.settles(c, said)
	if !again.Replay || again.State != queue.StateReady || again.Attempt != first.Attempt || !again.AvailableAt.Equal(first.AvailableAt) {
		f.Errorf("answered %+v, then %+v", first, again)
	}
	// A note moves nothing either.
	if err := f.Note(f.Context(), c.Job.ID, c.Lease.Fence, "late"); err != nil {
		f.Fatal(err)
	}
	if again := f.settles(c, said); !again.Replay {
		f.Errorf("after a note: %+v", again)
	}
}

func (f *fixture) replayAnywhere() {
	f.add("a", "1")
	c := f.claim("a", rule)
	said := queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(` {"a":1} `)}
	f.settles(c, said)
	f.clock.Advance(time.Hour) // long after its lease
	if s := f.beside().settles(c, said); !s.Replay {
		f.Errorf("from beside: %+v", s)
	}
	f.reopen()
	if s := f.settles(c, said); !s.Replay || s.State != queue.StateDone {
		f.Errorf("after a reopening: %+v", s)
	}
	f.clock.Reboot(time.Hour)
	f.reopen()
	if s := f.settles(c, said); !s.Replay {
		f.Errorf("after a reboot: %+v", s)
	}
}

func (f *fixture) longReason() {
	f.add("a", "1")
	c := f.claim("a", rule)
	said := queue.Outcome{Is: queue.RunDead, Reason: strings.Repeat("é", queue.MaxReason)}
	f.settles(c, said)
	if s := f.settles(c, said); !s.Replay {
		f.Errorf("again: %+v", s)
	}
	cut := queue.CutText(said.Reason, queue.MaxReason)
	if got := f.get(c.Job.ID).LastError; got != cut {
		f.Errorf("kept %d bytes of it, want %d", len(got), len(cut))
	}
	f.add("b", "1")
	c = f.claim("b", rule)
	f.settles(c, queue.Outcome{Is: queue.RunDead, Reason: "bytes \xff that are none"})
	if got := f.get(c.Job.ID).LastError; !strings.Contains(got, `\xff`) {
		f.Errorf("kept as %q", got)
	}
}

func (f *fixture) longResult() {
	f.add("a", "1")
	c := f.claim("a", rule)
	said := queue.Outcome{Is: queue.RunDone, Result: text(queue.MaxResult + 1)}
	first := f.settles(c, said)
	if first.State != queue.StateDone || first.Note == "" {
		f.Errorf("settled %+v", first)
	}
	if job := f.get(c.Job.ID); job.State != queue.StateDone || job.Result != nil {
		f.Errorf("%s with %d bytes of result", job.State, len(job.Result))
	}
	if story := f.story(c.Job.ID); story[len(story)-1].Detail == "" {
		f.Error("the history does not say so")
	}
	if again := f.settles(c, said); !again.Replay || again.Note != first.Note {
		f.Errorf("again: %+v, first %+v", again, first)
	}
	f.add("b", "1")
	c = f.claim("b", rule)
	f.settles(c, queue.Outcome{Is: queue.RunDone, Result: text(queue.MaxResult)})
	if job := f.get(c.Job.ID); len(job.Result) != queue.MaxResult {
		f.Errorf("the longest result: %d bytes of it", len(job.Result))
	}
}
