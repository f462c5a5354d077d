package queuetest

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

var dueRules = rules{
	"a scheduled job becomes ready when its time has come":             (*fixture).dueByWall,
	"a job is never due before its time, to the millisecond":           (*fixture).neverEarly,
	"a job due in the past is ready, as of then":                       (*fixture).dueInThePast,
	"a due job counts as ready before anybody has claimed":             (*fixture).dueCountsAsReady,
	"a wall clock set back makes no delay longer":                      (*fixture).clockSetBack,
	"a wall clock set forward makes a delay shorter, as a due time":    (*fixture).clockSetForward,
	"a due time that was named follows the wall clock alone":           (*fixture).namedTimeFollowsWall,
	"after a restart of the machine a delay follows the wall clock":    (*fixture).delayAfterReboot,
	"what was promoted stays ready when the clock is set back":         (*fixture).promotedStays,
	"of due jobs the oldest is claimed first, whichever clock says so": (*fixture).oldestByEitherClock,
}

// stateOf is the state of the first job.
func (f *fixture) isIn(id int64, state queue.State) {
	f.Helper()
	if got := f.get(id); got.State != state {
		f.Errorf("job %d is %s, due %v, want %s at %v", id, got.State, got.AvailableAt, state, f.clock.Now())
	}
	f.counted()
}

func (f *fixture) dueByWall() {
	n := newJob("a", "1")
	n.AvailableAt = start.Add(time.Hour)
	id := f.adds(n).ID
	f.isIn(id, queue.StateScheduled)
	f.clock.Advance(time.Hour - time.Millisecond)
	f.isIn(id, queue.StateScheduled)
	if got := f.claims(want("", 9, rule)); len(got) != 0 {
		f.Errorf("claimed early: %s", keysOf(got))
	}
	f.clock.Advance(time.Millisecond)
	f.isIn(id, queue.StateReady)
	c := f.claim("a", rule)
	if !c.Job.AvailableAt.Equal(start.Add(time.Hour)) {
		f.Errorf("due %v", c.Job.AvailableAt)
	}
	for _, e := range f.story(id) {
		if e.Event == queue.EventPromote {
			f.Errorf("a promotion in the history: %+v", e)
		}
	}
}

func (f *fixture) neverEarly() {
	n := newJob("a", "1")
	n.AvailableAt = start.Add(time.Second + time.Nanosecond)
	id := f.adds(n).ID
	f.clock.Advance(time.Second)
	f.isIn(id, queue.StateScheduled)
	f.clock.Advance(time.Millisecond)
	f.isIn(id, queue.StateReady)
}

func (f *fixture) dueInThePast() {
	n := newJob("a", "1")
	n.AvailableAt = start.Add(-time.Hour)
	id := f.adds(n).ID
	if got := f.get(id); got.State != queue.StateReady || !got.AvailableAt.Equal(n.AvailableAt) {
		f.Errorf("%+v", got)
	}
	if m := f.metrics().Kinds["a"]; m.OldestReady != time.Hour {
		f.Errorf("the oldest waits %v", m.OldestReady)
	}
}

func (f *fixture) dueCountsAsReady() {
	n := newJob("a", "1")
	n.AvailableAt = start.Add(time.Minute)
	id := f.adds(n).ID
	f.clock.Advance(time.Hour)
	f.isIn(id, queue.StateReady)
	if got := f.list(queue.Filter{States: []queue.State{queue.StateReady}}); len(got) != 1 || got[0].State != queue.StateReady {
		f.Errorf("ready: %+v", got)
	}
	if got := f.list(queue.Filter{States: []queue.State{queue.StateScheduled}}); len(got) != 0 {
		f.Errorf("scheduled: %+v", got)
	}
	if m := f.metrics(); m.Ready != 1 || m.Scheduled != 0 || m.Kinds["a"].OldestReady != 59*time.Minute {
		f.Errorf("metrics %+v", m)
	}
}

// delays are jobs that wait a minute, each by another way.
func (f *fixture) delays() map[string]int64 {
	f.Helper()
	ids := map[string]int64{}
	for _, how := range []string{"retry", "backoff", "snooze", "requeue"} {
		ids[how] = f.add(how, "1").ID
		c := f.claim(how, rule)
		switch how {
		case "retry":
			f.settles(c, queue.Outcome{Is: queue.RunRetry, After: after(time.Minute)})
		case "backoff":
			f.settles(c, queue.Outcome{Is: queue.RunRetry, Backoff: queue.Backoff{Base: time.Minute}})
		case "snooze":
			f.settles(c, queue.Outcome{Is: queue.RunSnooze, After: after(time.Minute)})
		case "requeue":
			f.settles(c, queue.Outcome{Is: queue.RunDead})
			if _, err := f.Requeue(f.Context(), queue.Ref{ID: c.Job.ID}, queue.Requeue{Delay: time.Minute}); err != nil {
				f.Fatal(err)
			}
		}
		if got := f.get(ids[how]); got.State != queue.StateScheduled || !got.AvailableAt.Equal(f.clock.Now().Add(time.Minute)) {
			f.Errorf("%s: %+v", how, got)
		}
	}
	return ids
}

func (f *fixture) clockSetBack() {
	ids := f.delays()
	f.clock.StepWall(-24 * time.Hour)
	f.clock.Advance(59 * time.Second)
	for _, id := range ids {
		f.isIn(id, queue.StateScheduled)
	}
	f.clock.Advance(time.Second)
	f.reopen()
	for _, id := range ids {
		f.isIn(id, queue.StateReady)
	}
	f.clock.Advance(time.Second)
	for how, id := range ids {
		if got := f.get(id).AvailableAt; !got.Equal(f.ago(time.Second)) {
			f.Errorf("%s: due %v, not a second ago", how, got)
		}
		if got := f.metrics().Kinds[how].OldestReady; got != time.Second {
			f.Errorf("%s: the oldest waits %v", how, got)
		}
		if c := f.claim(how, rule); c.Job.ID != id || !c.Job.AvailableAt.Equal(f.ago(time.Second)) {
			f.Errorf("%s: claimed %+v", how, c.Job)
		}
	}
}

func (f *fixture) clockSetForward() {
	ids := f.delays()
	f.clock.StepWall(time.Minute)
	for how, id := range ids {
		f.isIn(id, queue.StateReady)
		f.claim(how, rule)
	}
}

func (f *fixture) namedTimeFollowsWall() {
	n := newJob("a", "1")
	n.AvailableAt = start.Add(time.Minute)
	id := f.adds(n).ID
	f.clock.StepWall(-time.Hour)
	f.clock.Advance(2 * time.Minute)
	f.isIn(id, queue.StateScheduled)
	f.clock.Advance(time.Hour)
	f.isIn(id, queue.StateReady)
}

func (f *fixture) delayAfterReboot() {
	ids := f.delays()
	f.clock.Reboot(10 * time.Second)
	f.reopen()
	f.clock.Advance(49 * time.Second)
	for _, id := range ids {
		f.isIn(id, queue.StateScheduled)
	}
	f.clock.Advance(time.Second)
	for how, id := range ids {
		f.isIn(id, queue.StateReady)
		f.claim(how, rule)
	}
	// The monotonic clock of another boot says nothing, however far it has come.
	f.clock.Reboot(0)
	f.reopen()
	late := f.delaysOnce("late")
	f.clock.Reboot(0)
	f.reopen()
	f.clock.StepWall(-time.Hour)
	f.clock.Advance(30 * time.Minute)
	f.isIn(late, queue.StateScheduled)
	if got := f.claims(want("late", 1, rule)); len(got) != 0 {
		f.Errorf("claimed early: %+v", got)
	}
	if a := f.agenda("late"); len(a.Ready) != 0 || !a.NextDue.Equal(f.get(late).AvailableAt) {
		f.Errorf("agenda %+v", a)
	}
}

// delaysOnce is a job of a kind that waits a minute.
func (f *fixture) delaysOnce(kind string) int64 {
	f.Helper()
	id := f.add(kind, "1").ID
	f.settles(f.claim(kind, rule), queue.Outcome{Is: queue.RunSnooze, After: after(time.Minute)})
	return id
}

func (f *fixture) promotedStays() {
	ids := []int64{f.delaysOnce("a")}
	n := newJob("a", "2")
	n.AvailableAt = f.clock.Now().Add(time.Minute)
	ids = append(ids, f.adds(n).ID)
	f.clock.Advance(time.Minute)
	f.promotes(stand{ref: queue.Ref{ID: ids[0]}})
	f.clock.StepWall(-time.Hour)
	for _, id := range ids {
		f.isIn(id, queue.StateReady)
	}
	f.clock.Reboot(0)
	f.reopen()
	for _, id := range ids {
		f.isIn(id, queue.StateReady)
	}
}

func (f *fixture) oldestByEitherClock() {
	first := f.delaysOnce("a") // due in a minute, by the monotonic clock
	f.clock.StepWall(-time.Hour)
	n := newJob("a", "2")
	n.AvailableAt = f.clock.Now().Add(70 * time.Second)
	second := f.adds(n).ID
	n.Key, n.AvailableAt = "3", f.clock.Now().Add(50*time.Second)
	zeroth := f.adds(n).ID
	f.clock.Advance(2 * time.Minute)
	for _, id := range []int64{zeroth, first, second} {
		if c := f.claim("a", rule); c.Job.ID != id {
			f.Errorf("claimed %d before %d", c.Job.ID, id)
		}
	}
}
