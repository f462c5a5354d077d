package queuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

var rerunRules = rules{
	"a rerun is a new job like the old one":                        (*fixture).reruns,
	"the histories of both say so":                                 (*fixture).rerunInHistories,
	"the same rerun again is a replay, whatever became of the old": (*fixture).rerunAgain,
	"a job that is not over is not run again":                      (*fixture).rerunUnfinished,
	"a job that may have done something is rerun only as reviewed": (*fixture).rerunReviewed,
	"a key that is taken by another job is a conflict":             (*fixture).rerunTaken,
}

// finished makes a job that ended, with all that a rerun copies.
func (f *fixture) finished(is queue.RunEnd) queue.Job {
	f.Helper()
	n := newJob("a", "old."+string(is))
	n.Payload, n.Meta = jsontext.Value(`{ "n" : 1.0 }`), jsontext.Value(`{"m":1}`)
	n.Priority, n.MaxAttempts = 7, 3
	f.adds(n)
	c := f.claim("a", rule)
	f.settles(c, queue.Outcome{Is: is})
	return f.get(c.Job.ID)
}

func (f *fixture) reruns() {
	for _, is := range []queue.RunEnd{queue.RunDone, queue.RunDead} {
		old := f.finished(is)
		f.clock.Advance(time.Minute)
		before := f.picture().of(old.ID)
		e, err := f.Rerun(f.Context(), queue.Ref{ID: old.ID}, queue.Rerun{Key: "new." + string(is)})
		if err != nil || !e.Created || e.Pruned {
			f.Fatalf("%+v, %v", e, err)
		}
		now := f.clock.Now()
		want := queue.Job{
			ID: e.Job.ID, Kind: "a", Key: "new." + string(is), State: queue.StateReady, Payload: old.Payload, Meta: old.Meta,
			Priority: 7, NamedAttempts: 3, MaxAttempts: 3, Fence: e.Job.Fence,
			AvailableAt: now, CreatedAt: now, UpdatedAt: now, IdempotencyKey: e.Job.IdempotencyKey,
		}
		if got := fmt.Sprintf("%+v", e.Job); got != fmt.Sprintf("%+v", want) || e.Job.ID <= old.ID || e.Job.IdempotencyKey == old.IdempotencyKey {
			f.Errorf("answered\n%s, want\n%+v", got, want)
		}
		if got := fmt.Sprintf("%+v", f.get(e.Job.ID)); got != fmt.Sprintf("%+v", want) {
			f.Errorf("stored\n%s, want\n%+v", got, want)
		}
		if now := f.picture().of(old.ID); now[fmt.Sprintf("job %d", old.ID)] != before[fmt.Sprintf("job %d", old.ID)] {
			f.Errorf("the old job changed:\n%s", before.difference(now))
		}
		c := f.claim("a", rule)
		if c.Job.ID != e.Job.ID {
			f.Errorf("claimed %+v", c.Job)
		}
		f.settles(c, queue.Outcome{Is: queue.RunDone})
	}
	cancelled := queue.Ref{ID: f.add("b", "1").ID}
	if _, err := f.Cancel(f.Context(), cancelled); err != nil {
		f.Fatal(err)
	}
	if e, err := f.Rerun(f.Context(), cancelled, queue.Rerun{Key: "2"}); err != nil || !e.Created {
		f.Errorf("of a cancelled one: %+v, %v", e, err)
	}
	f.counted()
}

func (f *fixture) rerunInHistories() {
	old := f.finished(queue.RunDone)
	f.clock.Advance(time.Minute)
	e, err := f.Rerun(f.Context(), queue.Ref{Kind: "a", Key: old.Key}, queue.Rerun{Key: "new"})
	if err != nil {
		f.Fatal(err)
	}
	story := f.story(old.ID)
	last := story[len(story)-1]
	if last.Event != queue.EventNote || last.To != queue.StateDone || !strings.Contains(last.Detail, fmt.Sprint(e.Job.ID)) || !last.At.Equal(f.clock.Now()) {
		f.Errorf("the old one's: %+v", last)
	}
	story = f.story(e.Job.ID)
	if len(story) != 1 || story[0].Event != queue.EventEnqueue || !strings.Contains(story[0].Detail, fmt.Sprint(old.ID)) {
		f.Errorf("the new one's: %+v", story)
	}
}

func (f *fixture) rerunAgain() {
	old := f.finished(queue.RunDead)
	ref := queue.Ref{ID: old.ID}
	first, err := f.Rerun(f.Context(), ref, queue.Rerun{Key: "new"})
	if err != nil {
		f.Fatal(err)
	}
	again := func(when string) {
		f.Helper()
		f.clock.Advance(time.Second)
		before := f.picture()
		e, err := f.Rerun(f.Context(), ref, queue.Rerun{Key: "new"})
		if err != nil || e.Created || e.Pruned || e.Job.ID != first.Job.ID || fmt.Sprintf("%+v", e.Job) != fmt.Sprintf("%+v", f.get(first.Job.ID)) {
			f.Errorf("%s: %+v, %v", when, e, err)
		}
		f.unchanged(before, "a replay "+when)
	}
	again("at once")
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDone})
	again("when the new one is done")
	if _, err := f.Requeue(f.Context(), ref, queue.Requeue{}); err != nil {
		f.Fatal(err)
	}
	again("when the old one was requeued")
	// And an enqueue of the same is one too.
	e, err := f.Enqueue(f.Context(), queue.NewJob{Kind: "a", Key: "new", Payload: old.Payload, MaxAttempts: 3})
	if err != nil || e.Created {
		f.Errorf("enqueued: %+v, %v", e, err)
	}
}

func (f *fixture) rerunUnfinished() {
	for _, state := range []queue.State{queue.StateScheduled, queue.StateReady, queue.StateLeased, queue.StateQuarantined} {
		other := newFixture(f.T, f.engine)
		s := other.brings(state)
		before := other.picture()
		for _, reviewed := range []bool{false, true} {
			_, err := other.Rerun(f.Context(), s.ref, queue.Rerun{Key: "new", Reviewed: reviewed})
			f.refused(err, queue.ErrConflict, string(state))
		}
		other.unchanged(before, "a rerun of a "+string(state)+" job")
	}
}

func (f *fixture) rerunReviewed() {
	old := f.finished(queue.RunQuarantine)
	ref := queue.Ref{ID: old.ID}
	if _, err := f.CloseJob(f.Context(), ref, queue.Finding{As: queue.StateDone}); err != nil {
		f.Fatal(err)
	}
	before := f.picture()
	_, err := f.Rerun(f.Context(), ref, queue.Rerun{Key: "new"})
	f.refused(err, queue.ErrConflict, "reviewed")
	f.unchanged(before, "a rerun without a review")
	e, err := f.Rerun(f.Context(), ref, queue.Rerun{Key: "new", Reviewed: true})
	if err != nil || !e.Created || e.Job.NeedsReview {
		f.Errorf("reviewed: %+v, %v", e, err)
	}
}

func (f *fixture) rerunTaken() {
	old := f.finished(queue.RunDone)
	ref := queue.Ref{ID: old.ID}
	other := newJob("a", "other")
	other.MaxAttempts = 3
	f.adds(other)
	limit := newJob("a", "limit")
	limit.Payload = old.Payload
	f.adds(limit)
	same := newJob("a", "same")
	same.Payload, same.MaxAttempts = jsontext.Value(`{"n":1.0}`), 3
	f.adds(same)
	before := f.picture()
	_, err := f.Rerun(f.Context(), ref, queue.Rerun{Key: "other"})
	f.refused(err, queue.ErrConflict, "payload")
	_, err = f.Rerun(f.Context(), ref, queue.Rerun{Key: "limit"})
	f.refused(err, queue.ErrConflict, "limit")
	_, err = f.Rerun(f.Context(), ref, queue.Rerun{Key: old.Key})
	f.refused(err, queue.ErrConflict)
	e, err := f.Rerun(f.Context(), ref, queue.Rerun{Key: "same"})
	if err != nil || e.Created || e.Job.Key != "same" {
		f.Errorf("one that is the same: %+v, %v", e, err)
	}
	f.unchanged(before, "a rerun under a key that is taken")
}
