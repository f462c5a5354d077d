package queuetest

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

var stuckRules = rules{
	"a due job that nobody takes is stuck after an hour":       (*fixture).stuckWaiting,
	"a run is stuck an hour after its claim":                   (*fixture).stuckRunning,
	"a run whose lease is over is stuck at once":               (*fixture).stuckOver,
	"a paused kind has no stuck jobs that wait":                (*fixture).stuckPaused,
	"what is finished or not due is never stuck":               (*fixture).stuckNever,
	"another time may be named, and the filter's other fields": (*fixture).stuckFiltered,
}

// stuck lists the keys of stuck jobs.
func (f *fixture) stuck(filter queue.Filter) string {
	f.Helper()
	filter.Stuck = true
	return keysIn(f.list(filter))
}

func (f *fixture) stuckWaiting() {
	f.add("a", "ready")
	n := newJob("a", "due")
	n.AvailableAt = f.clock.Now().Add(10 * time.Minute)
	f.adds(n)
	for _, step := range []struct {
		passes time.Duration
		want   string
	}{
		{queue.StuckAfter - time.Millisecond, ""}, {time.Millisecond, "ready"},
		{10*time.Minute - time.Millisecond, "ready"}, {time.Millisecond, "ready due"},
	} {
		f.clock.Advance(step.passes)
		if got := f.stuck(queue.Filter{}); got != step.want {
			f.Errorf("%v: %q, want %q", f.clock.Now().Sub(start), got, step.want)
		}
	}
	f.claims(want("a", 1, rule))
	if got := f.stuck(queue.Filter{}); got != "due" {
		f.Errorf("after a claim: %q", got)
	}
}

func (f *fixture) stuckRunning() {
	f.add("a", "1")
	r := want("a", 1, rule)
	r.Lease = 2 * queue.StuckAfter
	f.claims(r)
	f.clock.Advance(queue.StuckAfter - time.Millisecond)
	if got := f.stuck(queue.Filter{}); got != "" {
		f.Errorf("early: %q", got)
	}
	f.clock.Advance(time.Millisecond)
	if got := f.stuck(queue.Filter{}); got != "1" {
		f.Errorf("an hour after its claim: %q", got)
	}
}

func (f *fixture) stuckOver() {
	f.add("a", "1")
	c := f.claim("a", rule)
	f.clock.Advance(leaseLength - time.Millisecond)
	if got := f.stuck(queue.Filter{}); got != "" {
		f.Errorf("while its lease lives: %q", got)
	}
	f.clock.Advance(time.Millisecond)
	if got := f.stuck(queue.Filter{}); got != c.Job.Key {
		f.Errorf("at its deadline: %q", got)
	}
	f.clock.Advance(margin)
	f.expires()
	if got := f.stuck(queue.Filter{}); got != "" {
		f.Errorf("when it was expired: %q", got)
	}
}

func (f *fixture) stuckPaused() {
	f.add("a", "waits")
	f.add("a", "runs")
	n := newJob("a", "due")
	n.AvailableAt = f.clock.Now().Add(time.Minute)
	f.adds(n)
	f.claim("a", rule) // "waits" was first
	if err := f.Pause(f.Context(), "a", true); err != nil {
		f.Fatal(err)
	}
	f.clock.Advance(2 * queue.StuckAfter)
	if got := f.stuck(queue.Filter{}); got != "waits" {
		f.Errorf("paused: %q, want the run alone", got)
	}
	if err := f.Pause(f.Context(), "a", false); err != nil {
		f.Fatal(err)
	}
	if got := f.stuck(queue.Filter{}); got != "waits runs due" {
		f.Errorf("resumed: %q", got)
	}
}

func (f *fixture) stuckNever() {
	f.everyState()
	n := newJob("a", "far")
	n.AvailableAt = f.clock.Now().Add(100 * day)
	f.adds(n)
	f.clock.Advance(50 * day)
	if got := f.stuck(queue.Filter{Kind: "a"}); got != "scheduled leased ready" {
		f.Errorf("%q", got)
	}
}

func (f *fixture) stuckFiltered() {
	f.everyState()
	f.clock.Advance(time.Hour + 5*time.Minute)
	for _, c := range []struct {
		filter queue.Filter
		want   string
	}{
		{queue.Filter{OlderThan: 5 * time.Minute, Kind: "a"}, "scheduled leased ready"},
		{queue.Filter{OlderThan: 5*time.Minute + time.Millisecond, Kind: "a"}, "leased ready"},
		{queue.Filter{OlderThan: 2 * time.Hour, Kind: "a"}, "leased"},
		{queue.Filter{OlderThan: time.Minute, Kind: "a", KeyPrefix: "r"}, "ready"},
		{queue.Filter{OlderThan: time.Minute, States: []queue.State{queue.StateReady}}, "scheduled ready scheduled ready"},
		{queue.Filter{States: []queue.State{queue.StateLeased, queue.StateDone}}, "leased leased"},
		{queue.Filter{OlderThan: time.Minute, Limit: 2}, "scheduled leased"},
		{queue.Filter{States: []queue.State{queue.StateDead}}, ""},
	} {
		if got := f.stuck(c.filter); got != c.want {
			f.Errorf("%+v: %q, want %q", c.filter, got, c.want)
		}
	}
}
