package queuetest

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

var pauseRules = rules{
	"a paused kind is left alone by everybody":  (*fixture).pausedKind,
	"a kind may be paused before its first job": (*fixture).pausedBefore,
	"a pause touches no run under way":          (*fixture).pauseAndRuns,
}

func (f *fixture) pausedKind() {
	f.add("a", "1")
	f.add("b", "1")
	due := newJob("a", "due")
	due.AvailableAt = f.clock.Now().Add(time.Second)
	f.adds(due)
	pause := func(paused bool) {
		f.Helper()
		for range 2 { // asking twice is asking once
			if err := f.Pause(f.Context(), "a", paused); err != nil {
				f.Fatal(err)
			}
		}
		f.reopen()
		if got := f.metrics().Kinds["a"].Paused; got != paused {
			f.Errorf("shown as paused: %v", got)
		}
	}
	pause(true)
	f.clock.Advance(time.Minute)
	r := want("a", 9, rule)
	if got := f.claims(r); len(got) != 0 {
		f.Errorf("claimed %s of a paused kind", keysOf(got))
	}
	r.Most = 5
	if got := f.claims(r); len(got) != 0 {
		f.Errorf("claimed %s of a paused kind, as the best", keysOf(got))
	}
	if got := f.beside().claims(want("", 9, rule)); len(got) != 1 || got[0].Job.Kind != "b" {
		f.Errorf("of any kind: %+v", got)
	}
	f.add("a", "3") // is taken all the same
	pause(false)
	if got := keysOf(f.claims(want("a", 9, rule))); got != "1 due 3" {
		f.Errorf("afterwards: %s", got)
	}
}

func (f *fixture) pausedBefore() {
	if err := f.Pause(f.Context(), "a", true); err != nil {
		f.Fatal(err)
	}
	if k, known := f.metrics().Kinds["a"]; !known || !k.Paused {
		f.Errorf("shown as %+v, %v", k, known)
	}
	f.add("a", "1")
	if got := f.claims(want("", 9, rule)); len(got) != 0 {
		f.Errorf("claimed %s", keysOf(got))
	}
	if err := f.Pause(f.Context(), "a", false); err != nil {
		f.Fatal(err)
	}
	f.claim("a", rule)
}

func (f *fixture) pauseAndRuns() {
	f.add("a", "1")
	f.add("a", "2")
	c := f.claims(want("a", 2, rule))
	if err := f.Pause(f.Context(), "a", true); err != nil {
		f.Fatal(err)
	}
	if r := f.renew(c[0], leaseLength); r.Err != nil {
		f.Errorf("renew: %v", r.Err)
	}
	f.settles(c[0], queue.Outcome{Is: queue.RunDone})
	f.clock.Advance(leaseLength + margin)
	if got := f.expires(); len(got) != 1 || got[0].ID != c[1].Job.ID {
		f.Errorf("expired %+v", got)
	}
}
