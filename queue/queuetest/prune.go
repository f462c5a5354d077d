package queuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

var pruneRules = rules{
	"finished jobs are pruned when their retention is over":     (*fixture).prunes,
	"what is not finished is never pruned":                      (*fixture).prunesFinishedOnly,
	"nothing is pruned that nobody said a time for":             (*fixture).prunesWhatItIsTold,
	"one call prunes no more than it was allowed, oldest first": (*fixture).prunesInSteps,
	"a dry run counts all and changes nothing":                  (*fixture).prunesDry,
	"the same job again after pruning is still a replay":        (*fixture).replayOfPruned,
	"another job under a pruned key is still a conflict":        (*fixture).conflictWithPruned,
	"a pruned job is not found, and its key says why":           (*fixture).prunedIsNotFound,
	"the id of a pruned job is never used again":                (*fixture).prunedIDs,
	"a retention counts from the end, not from the enqueue":     (*fixture).retentionFromEnd,
	"a rerun under the key of a pruned job is a replay of it":   (*fixture).rerunOfPruned,
}

// day is what the suite keeps jobs for.
const day = 24 * time.Hour

// keepDay keeps finished jobs for a day.
var keepDay = queue.Retention{Done: day, Dead: day, Cancelled: day}

// pruneAll prunes until there is no more.
func (f *fixture) pruneAll(p queue.Pruning) (jobs int64) {
	f.Helper()
	for {
		answer, err := f.Prune(f.Context(), p)
		if err != nil {
			f.Fatalf("prune: %v", err)
		}
		if jobs += answer.Jobs; !answer.More {
			return jobs
		}
	}
}

func (f *fixture) prunes() {
	f.everyState()
	keep := queue.Retention{Done: 3 * day, Dead: 2 * day, Cancelled: day}
	for _, step := range []struct {
		passes time.Duration
		gone   string
	}{
		{day - time.Millisecond, ""},
		{time.Millisecond, "cancelled"},
		{day - time.Millisecond, ""},
		{time.Millisecond, "dead"},
		{day, "done"},
	} {
		f.clock.Advance(step.passes)
		before := keysIn(f.everything())
		n := f.pruneAll(queue.Pruning{Keep: keep})
		after := keysIn(f.everything())
		if step.gone == "" {
			if n != 0 || before != after {
				f.Errorf("pruned %d early: %s", n, after)
			}
			continue
		}
		if n != 2 || strings.Contains(" "+after+" ", " "+step.gone+" ") || len(strings.Fields(after)) != len(strings.Fields(before))-2 {
			f.Errorf("pruned %d, left are %s", n, after)
		}
		f.counted()
	}
	if m := f.metrics(); m.Done+m.Dead+m.Cancelled != 0 || len(m.Kinds) != 2 {
		f.Errorf("%+v", m)
	}
}

func (f *fixture) prunesFinishedOnly() {
	f.everyState()
	f.clock.Advance(1000 * day)
	f.pruneAll(queue.Pruning{Keep: queue.Retention{Done: 1, Dead: 1, Cancelled: 1}})
	if got := keysIn(f.everything()); got != "scheduled leased quarantined ready scheduled leased quarantined ready" {
		f.Errorf("left are %s", got)
	}
}

func (f *fixture) prunesWhatItIsTold() {
	f.everyState()
	f.clock.Advance(1000 * day)
	if n := f.pruneAll(queue.Pruning{}); n != 0 {
		f.Errorf("pruned %d that are kept for ever", n)
	}
	if n := f.pruneAll(queue.Pruning{Keep: queue.Retention{Dead: day}, Kind: "a"}); n != 1 {
		f.Errorf("pruned %d dead ones of one kind", n)
	}
	if n := f.pruneAll(queue.Pruning{Keep: keepDay, Kind: "nobody"}); n != 0 {
		f.Errorf("pruned %d of a kind that never was", n)
	}
	if n := f.pruneAll(queue.Pruning{Keep: keepDay, Kind: "b"}); n != 3 {
		f.Errorf("pruned %d of the other kind", n)
	}
}

func (f *fixture) prunesInSteps() {
	const n = 25
	for i := range n {
		f.add("a", numbered(i))
		f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDone})
		f.clock.Advance(time.Second)
	}
	f.clock.Advance(day)
	for left := n; left > 0; {
		answer, err := f.Prune(f.Context(), queue.Pruning{Keep: keepDay, Limit: 10})
		if err != nil || answer.Jobs != int64(min(left, 10)) || answer.More != (left > 10) {
			f.Fatalf("with %d left: %+v, %v", left, answer, err)
		}
		left -= int(answer.Jobs)
		if jobs := f.everything(); len(jobs) != left || left > 0 && jobs[0].Key != numbered(n-left) {
			f.Errorf("left are %s", keysIn(jobs))
		}
	}
	if answer, err := f.Prune(f.Context(), queue.Pruning{Keep: keepDay}); err != nil || answer.Jobs != 0 || answer.More {
		f.Errorf("when all are gone: %+v, %v", answer, err)
	}
}

func (f *fixture) prunesDry() {
	f.deadJobs(300)
	f.clock.Advance(day)
	before := f.picture()
	answer, err := f.Prune(f.Context(), queue.Pruning{Keep: keepDay, Limit: 10, DryRun: true})
	if err != nil || answer.Jobs != 300 || answer.Freed != 0 {
		f.Errorf("%+v, %v", answer, err)
	}
	f.unchanged(before, "a dry run")
	if n := f.pruneAll(queue.Pruning{Keep: keepDay}); n != 300 {
		f.Errorf("pruned %d", n)
	}
}

// pruned makes a job that was pruned.
func (f *fixture) pruned(n queue.NewJob) queue.Job {
	f.Helper()
	f.adds(n)
	c := f.claim(n.Kind, rule)
	f.settles(c, queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`1`)})
	job := f.get(c.Job.ID)
	f.clock.Advance(2 * day)
	if got := f.pruneAll(queue.Pruning{Keep: keepDay}); got != 1 {
		f.Fatalf("pruned %d", got)
	}
	return job
}

func (f *fixture) replayOfPruned() {
	n := newJob("a", "1")
	n.Payload, n.MaxAttempts = jsontext.Value(`{"a":1,"b":2}`), 3
	old := f.pruned(n)
	want := queue.Job{
		ID: old.ID, Kind: "a", Key: "1", State: queue.StateDone, NamedAttempts: 3, FinishedAt: old.FinishedAt, IdempotencyKey: old.IdempotencyKey,
	}
	again := n
	again.Payload = jsontext.Value(`{ "b":2, "a":1 }`)
	for range 2 {
		before := f.picture()
		for _, n := range []queue.NewJob{n, again} {
			e, err := f.Enqueue(f.Context(), n)
			if err != nil || e.Created || !e.Pruned || fmt.Sprintf("%+v", e.Job) != fmt.Sprintf("%+v", want) {
				f.Errorf("%+v, %v, want %+v", e, err, want)
			}
			many, err := f.EnqueueMany(f.Context(), []queue.NewJob{n})
			if err != nil || many[0].Err != nil || many[0].Created || !many[0].Pruned || many[0].Job.ID != old.ID {
				f.Errorf("among many: %+v, %v", many, err)
			}
		}
		f.unchanged(before, "a replay of a pruned job")
		f.reopen()
	}
}

func (f *fixture) conflictWithPruned() {
	n := newJob("a", "1")
	n.MaxAttempts = 3
	f.pruned(n)
	other := n
	other.Payload = jsontext.Value(`2`)
	f.conflicts(other, "payload")
	other = n
	other.MaxAttempts = 4
	f.conflicts(other, "limit")
	f.add("b", "1") // another kind is another job
}

func (f *fixture) prunedIsNotFound() {
	old := f.pruned(newJob("a", "1"))
	before := f.picture()
	for act, call := range f.byRef() {
		for _, ref := range []queue.Ref{{ID: old.ID}, {Kind: "a", Key: "1"}} {
			if err := call(ref); err == nil {
				f.Errorf("%s of %s: taken", act, ref)
			} else {
				f.refused(err, queue.ErrNotFound, "pruned")
			}
		}
	}
	_, err := f.History(f.Context(), old.ID, 0)
	f.refused(err, queue.ErrNotFound)
	f.refused(f.Note(f.Context(), old.ID, 0, "late"), queue.ErrNotFound)
	f.unchanged(before, "what was asked of a pruned job")
}

func (f *fixture) prunedIDs() {
	old := f.pruned(newJob("a", "1"))
	f.reopen()
	if job := f.add("a", "2"); job.ID <= old.ID {
		f.Errorf("id %d after %d, which was pruned", job.ID, old.ID)
	}
}

func (f *fixture) retentionFromEnd() {
	f.add("a", "1")
	f.clock.Advance(10 * day)
	c := f.claim("a", rule)
	f.settles(c, queue.Outcome{Is: queue.RunDead})
	f.clock.Advance(day / 2)
	// A person's word is an end of its own.
	if _, err := f.CloseJob(f.Context(), queue.Ref{ID: c.Job.ID}, queue.Finding{As: queue.StateDone}); err != nil {
		f.Fatal(err)
	}
	f.clock.Advance(day - time.Millisecond)
	if n := f.pruneAll(queue.Pruning{Keep: keepDay}); n != 0 {
		f.Error("pruned early")
	}
	f.clock.Advance(time.Millisecond)
	if n := f.pruneAll(queue.Pruning{Keep: keepDay}); n != 1 {
		f.Error("not pruned")
	}
}

func (f *fixture) rerunOfPruned() {
	f.pruned(newJob("a", "1"))
	f.add("a", "2")
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDone})
	e, err := f.Rerun(f.Context(), queue.Ref{Kind: "a", Key: "2"}, queue.Rerun{Key: "1"})
	if err != nil || e.Created || !e.Pruned || e.Job.Key != "1" {
		f.Errorf("%+v, %v", e, err)
	}
}
