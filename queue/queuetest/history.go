package queuetest

import (
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var historyRules = rules{
	"a history tells every move, oldest first":                     (*fixture).tellsAll,
	"the newest entries are answered, oldest first":                (*fixture).newestEntries,
	"a snooze that repeats the one before is counted, not written": (*fixture).foldsSnoozes,
	"snoozes that differ are written":                              (*fixture).differentSnoozes,
	"what comes between two snoozes keeps them apart":              (*fixture).snoozesApart,
	"a job that is snoozed for ever has a short history":           (*fixture).manySnoozes,
}

// events tells the events of a history, a count after each that stands for several.
func events(story []queue.Entry) (all string) {
	for i, e := range story {
		if i > 0 {
			all += " "
		}
		all += string(e.Event)
		if e.Count > 1 {
			all += fmt.Sprintf("×%d", e.Count)
		}
	}
	return all
}

func (f *fixture) tellsAll() {
	id := f.add("a", "1").ID
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunRetry, Reason: "no", After: after(0)})
	f.claim("a", rule)
	f.clock.Advance(leaseLength + margin)
	f.expires()
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunQuarantine})
	ref := queue.Ref{ID: id}
	if _, err := f.Requeue(f.Context(), ref, queue.Requeue{Reviewed: true}); err != nil {
		f.Fatal(err)
	}
	c := f.claim("a", rule)
	if _, err := f.Cancel(f.Context(), ref); err != nil {
		f.Fatal(err)
	}
	f.settles(c, queue.Outcome{Is: queue.RunDead})
	if err := f.Note(f.Context(), id, c.Lease.Fence, "late"); err != nil {
		f.Fatal(err)
	}
	story := f.story(id)
	if got := events(story); got != "enqueue claim retry claim expire claim quarantine requeue claim cancel dead note" {
		f.Fatalf("history: %s", got)
	}
	at := queue.StateNone
	for _, e := range story {
		// A promotion writes nothing: scheduled and ready are one here.
		from := e.From
		if e.Event == queue.EventClaim && at == queue.StateScheduled {
			from = at
		}
		if from != at || e.At.Before(start) || e.At.After(f.clock.Now()) || e.Count != 1 {
			f.Errorf("after %s: %+v", at, e)
		}
		at = e.To
	}
}

func (f *fixture) newestEntries() {
	id := f.add("a", "1").ID
	for i := range 120 {
		if err := f.Note(f.Context(), id, 0, fmt.Sprint(i)); err != nil {
			f.Fatal(err)
		}
	}
	for limit, want := range map[int]int{0: queue.DefaultHistory, 1: 1, 121: 121, queue.MaxHistory: 121} {
		story, err := f.History(f.Context(), id, limit)
		if err != nil || len(story) != want {
			f.Fatalf("limit %d: %d entries, %v", limit, len(story), err)
		}
		for i, e := range story {
			if n := 120 - want + i; n >= 0 && e.Detail != fmt.Sprint(n) {
				f.Errorf("limit %d, entry %d: %+v", limit, i, e)
			}
		}
	}
}

// snoozed is a run that was snoozed.
func (f *fixture) snoozed(reason string) queue.Claimed {
	f.Helper()
	c := f.claim("a", rule)
	f.settles(c, queue.Outcome{Is: queue.RunSnooze, Reason: reason})
	return c
}

func (f *fixture) foldsSnoozes() {
	id := f.add("a", "1").ID
	first := f.snoozed("later")
	var last queue.Claimed
	for range 4 {
		f.clock.Advance(time.Second)
		last = f.snoozed("later")
	}
	story := f.story(id)
	if got := events(story); got != "enqueue claim×5 snooze×5" {
		f.Fatalf("history: %s", got)
	}
	for _, e := range story[1:] {
		if e.Fence != first.Lease.Fence || !e.At.Equal(start) || e.LastFence != last.Lease.Fence || !e.LastAt.Equal(f.clock.Now()) {
			f.Errorf("%+v", e)
		}
	}
	f.reopen()
	f.snoozed("later")
	if got := events(f.story(id)); got != "enqueue claim×6 snooze×6" {
		f.Errorf("history: %s", got)
	}
}

func (f *fixture) differentSnoozes() {
	id := f.add("a", "1").ID
	f.snoozed("one")
	f.snoozed("two")
	f.snoozed("two")
	c := f.claims(queue.ClaimRequest{Worker: "w2", Lease: leaseLength, Wants: []queue.Want{{Kind: "a", Max: 1}}})[0]
	f.settles(c, queue.Outcome{Is: queue.RunSnooze, Reason: "two"})
	c = f.claims(queue.ClaimRequest{Worker: "w2", Lease: leaseLength, Wants: []queue.Want{{Kind: "a", Max: 1}}})[0]
	f.settles(c, queue.Outcome{Is: queue.RunSnooze, Reason: "two", After: after(time.Second)}) // scheduled, not ready
	if got := events(f.story(id)); got != "enqueue claim snooze claim×2 snooze×2 claim snooze claim snooze" {
		f.Errorf("history: %s", got)
	}
}

func (f *fixture) snoozesApart() {
	id := f.add("a", "1").ID
	c := f.snoozed("later")
	if err := f.Note(f.Context(), id, c.Lease.Fence, "something"); err != nil {
		f.Fatal(err)
	}
	f.snoozed("later")
	f.snoozed("later")
	if got := events(f.story(id)); got != "enqueue claim snooze note claim×2 snooze×2" {
		f.Errorf("history: %s", got)
	}
	// A run that failed in between used up an attempt.
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunRetry, After: after(0)})
	f.snoozed("later")
	f.snoozed("later")
	if got := events(f.story(id)); got != "enqueue claim snooze note claim×2 snooze×2 claim retry claim×2 snooze×2" {
		f.Errorf("history: %s", got)
	}
}

func (f *fixture) manySnoozes() {
	id := f.add("a", "1").ID
	for range 50 {
		f.snoozed("")
	}
	if story := f.story(id); len(story) != 3 || story[1].Count != 50 || story[2].Count != 50 {
		f.Errorf("%+v", story)
	}
	if job := f.get(id); job.Attempt != 0 || job.State != queue.StateReady {
		f.Errorf("%+v", job)
	}
}
