package queuetest

import (
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var metricsRules = rules{
	"metrics count every job where it stands":             (*fixture).countsAll,
	"the age of the oldest is since it was due":           (*fixture).oldestAge,
	"a kind is counted for as long as it is known":        (*fixture).emptyKinds,
	"an empty queue counts nothing":                       (*fixture).emptyQueue,
	"metrics fit the jobs, whatever has happened to them": (*fixture).countsThroughLife,
}

func (f *fixture) countsAll() {
	f.everyState()
	each := queue.Counts{Scheduled: 1, Ready: 1, Leased: 1, Done: 1, Dead: 1, Quarantined: 1, Cancelled: 1}
	m := f.metrics()
	if m.Counts != (queue.Counts{Scheduled: 2, Ready: 2, Leased: 2, Done: 2, Dead: 2, Quarantined: 2, Cancelled: 2}) || len(m.Kinds) != 2 {
		f.Errorf("%+v", m)
	}
	for kind, k := range m.Kinds {
		if k.Counts != each || k.Paused || !k.HasOldestReady {
			f.Errorf("%s: %+v", kind, k)
		}
	}
	f.counted()
	f.clock.Advance(time.Hour)
	if m := f.metrics(); m.Scheduled != 0 || m.Ready != 4 {
		f.Errorf("when all are due: %+v", m.Counts)
	}
	f.counted()
}

func (f *fixture) oldestAge() {
	for i, ago := range []time.Duration{time.Minute, time.Hour, 0} {
		n := newJob("a", numbered(i))
		n.AvailableAt, n.Priority = f.ago(ago), 5*i
		f.adds(n)
	}
	n := newJob("b", "1")
	n.AvailableAt = f.clock.Now().Add(time.Minute)
	f.adds(n)
	f.clock.Advance(30 * time.Second)
	m := f.metrics()
	if k := m.Kinds["a"]; k.OldestReady != time.Hour+30*time.Second || !k.HasOldestReady {
		f.Errorf("%+v", k)
	}
	if k := m.Kinds["b"]; k.OldestReady != 0 || k.HasOldestReady {
		f.Errorf("%+v", k)
	}
	f.clock.Advance(time.Minute)
	if k := f.metrics().Kinds["b"]; k.OldestReady != 30*time.Second || !k.HasOldestReady {
		f.Errorf("%+v", k)
	}
	f.clock.StepWall(-2 * time.Hour) // nothing is younger than nothing
	if k := f.metrics().Kinds["a"]; k.OldestReady < 0 {
		f.Errorf("%+v", k)
	}
}

func (f *fixture) emptyKinds() {
	f.pruned(newJob("a", "1"))
	if k, known := f.metrics().Kinds["a"]; !known || k.Counts != (queue.Counts{}) || k.HasOldestReady {
		f.Errorf("%+v, %v", k, known)
	}
}

func (f *fixture) emptyQueue() {
	m := f.metrics()
	if m.Counts != (queue.Counts{}) || len(m.Kinds) != 0 {
		f.Errorf("%+v", m)
	}
	if jobs := f.list(queue.Filter{}); len(jobs) != 0 {
		f.Errorf("%+v", jobs)
	}
}

func (f *fixture) countsThroughLife() {
	var jobs []queue.NewJob
	for i := range 40 {
		n := newJob(fmt.Sprint("k", i%2), numbered(i))
		n.AvailableAt = f.clock.Now().Add(time.Duration(i-20) * time.Second)
		jobs = append(jobs, n)
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	f.counted()
	ends := []queue.RunEnd{queue.RunDone, queue.RunRetry, queue.RunDead, queue.RunUncertain, queue.RunQuarantine, queue.RunSnooze}
	for round := range 6 {
		f.clock.Advance(7 * time.Second)
		f.counted()
		for i, c := range f.claims(want("", 10, rule)) {
			if i%3 == 0 {
				if _, err := f.Cancel(f.Context(), queue.Ref{ID: c.Job.ID}); err != nil {
					f.Fatal(err)
				}
			}
			if i%4 != 1 { // those are left to expire
				f.settles(c, queue.Outcome{Is: ends[(i+round)%len(ends)]})
			}
		}
		f.counted()
		f.requeueMany(queue.RequeueMany{Requeue: queue.Requeue{Reviewed: round%2 == 0}, Spacing: time.Second, Filter: queue.Filter{Limit: 3}})
		f.counted()
		if round == 3 {
			f.clock.StepWall(-time.Minute)
			f.reopen()
		}
	}
	f.clock.Advance(time.Minute)
	f.expires()
	f.counted()
	f.pruneAll(queue.Pruning{Keep: queue.Retention{Done: 1, Cancelled: 1}})
	f.counted()
}
