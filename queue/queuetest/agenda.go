package queuetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var agendaRules = rules{
	"an agenda counts what is due of the kinds asked for": (*fixture).agendaReady,
	"an agenda tells when the next job falls due":         (*fixture).agendaNextDue,
	"an agenda tells when the first lease may be expired": (*fixture).agendaNextExpiry,
	"an agenda names the runs that are to be cancelled":   (*fixture).agendaCancelled,
	"an empty queue has an empty agenda":                  (*fixture).agendaEmpty,
}

// agenda must not fail.
func (f *fixture) agenda(kinds ...string) queue.Agenda {
	f.Helper()
	a, err := f.Agenda(f.Context(), kinds)
	if err != nil {
		f.Fatalf("agenda: %v", err)
	}
	return a
}

func (f *fixture) agendaReady() {
	f.everyState()
	f.add("c", "1")
	if err := f.Pause(f.Context(), "c", true); err != nil {
		f.Fatal(err)
	}
	if got := fmt.Sprint(f.agenda("a", "c", "nobody").Ready); got != "map[a:1]" {
		f.Errorf("%s", got)
	}
	f.clock.Advance(time.Hour)
	if got := fmt.Sprint(f.agenda("a", "b", "c").Ready); got != "map[a:2 b:2]" {
		f.Errorf("an hour later: %s", got)
	}
	if got := f.agenda().Ready; len(got) != 0 {
		f.Errorf("of no kind: %v", got)
	}
}

func (f *fixture) agendaNextDue() {
	add := func(kind string, in time.Duration) {
		n := newJob(kind, in.String())
		n.AvailableAt = f.clock.Now().Add(in)
		f.adds(n)
	}
	add("a", time.Minute)
	add("a", time.Hour)
	add("b", time.Second)
	if a := f.agenda("a"); !a.NextDue.Equal(start.Add(time.Minute)) {
		f.Errorf("of a: %v", a.NextDue)
	}
	if a := f.agenda("a", "b"); !a.NextDue.Equal(start.Add(time.Second)) {
		f.Errorf("of both: %v", a.NextDue)
	}
	f.clock.Advance(time.Minute)
	if a := f.agenda("a", "b"); !a.NextDue.Equal(start.Add(time.Hour)) || a.Ready["a"] != 1 || a.Ready["b"] != 1 {
		f.Errorf("a minute later: %+v", a)
	}
	if a := f.agenda("b"); !a.NextDue.IsZero() {
		f.Errorf("nothing to come: %v", a.NextDue)
	}
	// A delay ends when its time has passed, wherever the wall clock stands by then.
	f.delaysOnce("c")
	f.clock.StepWall(-24 * time.Hour)
	f.clock.Advance(20 * time.Second)
	if a := f.agenda("c"); !a.NextDue.Equal(f.clock.Now().Add(40 * time.Second)) {
		f.Errorf("of a delay: %v at %v", a.NextDue, f.clock.Now())
	}
	f.clock.Advance(40 * time.Second)
	if a := f.agenda("c"); !a.NextDue.IsZero() || a.Ready["c"] != 1 {
		f.Errorf("when it is over: %+v", a)
	}
	if err := f.Pause(f.Context(), "a", true); err != nil {
		f.Fatal(err)
	}
	if a := f.agenda("a"); !a.NextDue.IsZero() || len(a.Ready) != 0 {
		f.Errorf("of a paused kind: %+v", a)
	}
}

func (f *fixture) agendaNextExpiry() {
	f.add("a", "1")
	f.add("a", "2")
	long := want("a", 1, rule)
	long.Lease = time.Hour
	f.claims(long)
	if a := f.agenda(); !a.HasNextExpiry || a.NextExpiry != f.clock.Mono()+time.Hour+queue.Margin(time.Hour) {
		f.Errorf("%+v", a)
	}
	f.claim("a", rule)
	at := f.clock.Mono() + leaseLength + margin
	if a := f.agenda("nobody"); !a.HasNextExpiry || a.NextExpiry != at {
		f.Errorf("%+v, want %v", a, at)
	}
	f.clock.Advance(leaseLength + margin)
	if a := f.agenda(); a.NextExpiry != at {
		f.Errorf("when it is over: %+v, want %v", a, at)
	}
	f.expires()
	f.clock.Reboot(time.Minute)
	f.reopen()
	seen := f.clock.Mono()
	for range 2 {
		if a := f.agenda(); !a.HasNextExpiry || a.NextExpiry != seen+time.Hour+2*queue.Margin(time.Hour) {
			f.Errorf("after a reboot: %+v", a)
		}
		f.clock.Advance(time.Minute)
	}
}

func (f *fixture) agendaCancelled() {
	var ids []int64
	for i := range 4 {
		f.add("a", numbered(i))
	}
	for i, c := range f.claims(want("a", 4, rule)) {
		if i != 1 {
			ids = append(ids, c.Job.ID)
			if _, err := f.Cancel(f.Context(), queue.Ref{ID: c.Job.ID}); err != nil {
				f.Fatal(err)
			}
		}
		if i == 3 {
			f.settles(c, queue.Outcome{Is: queue.RunRetry})
			ids = ids[:len(ids)-1]
		}
	}
	got := f.agenda("b").Cancelled
	slices.Sort(got)
	if !slices.Equal(got, ids) {
		f.Errorf("%v, want %v", got, ids)
	}
}

func (f *fixture) agendaEmpty() {
	if a := f.agenda("a"); len(a.Ready) != 0 || !a.NextDue.IsZero() || a.HasNextExpiry || len(a.Cancelled) != 0 {
		f.Errorf("%+v", a)
	}
}
