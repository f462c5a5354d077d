package queuetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var requeueManyRules = rules{
	"all that can be requeued is selected, and nothing else":    (*fixture).requeuesAll,
	"a filter selects by state, kind, key and age":              (*fixture).requeuesFiltered,
	"the first waits its delay, each further one a step longer": (*fixture).requeuesSpaced,
	"one that is refused stops no other and takes no step":      (*fixture).requeuesAround,
	"a dry run tells what would happen and changes nothing":     (*fixture).requeuesDry,
	"page by page all of them are requeued":                     (*fixture).requeuesPages,
	"a state that cannot be requeued selects nothing":           (*fixture).requeuesNothing,
}

// everyState makes two jobs in each state, of kinds "a" and "b".
func (f *fixture) everyState() {
	f.Helper()
	for _, kind := range []string{"a", "b"} {
		for _, state := range queue.States() {
			n := newJob(kind, string(state))
			if state == queue.StateScheduled {
				n.AvailableAt = f.clock.Now().Add(time.Hour)
			}
			if state == queue.StateReady {
				continue // last: or a claim would take it
			}
			id := f.adds(n).ID
			is := map[queue.State]queue.RunEnd{
				queue.StateDone: queue.RunDone, queue.StateDead: queue.RunDead, queue.StateQuarantined: queue.RunQuarantine,
			}[state]
			switch {
			case state == queue.StateCancelled:
				if _, err := f.Cancel(f.Context(), queue.Ref{ID: id}); err != nil {
					f.Fatal(err)
				}
			case state == queue.StateLeased:
				r := want(kind, 1, rule)
				r.Lease = 30 * time.Minute
				f.claims(r)
			case is != "":
				f.settles(f.claim(kind, rule), queue.Outcome{Is: is})
			}
		}
		f.add(kind, string(queue.StateReady))
	}
}

// requeueMany must not fail as a whole.
func (f *fixture) requeueMany(r queue.RequeueMany) queue.RequeuedMany {
	f.Helper()
	answer, err := f.RequeueMany(f.Context(), r)
	if err != nil {
		f.Fatalf("requeue: %v", err)
	}
	last := int64(0)
	for _, j := range answer.Jobs {
		if j.Job.ID <= last {
			f.Errorf("job %d comes after %d", j.Job.ID, last)
		}
		last = j.Job.ID
		if j.Err != nil && !errors.Is(j.Err, queue.ErrConflict) {
			f.Errorf("job %d: %v", j.Job.ID, j.Err)
		}
		if j.Job.Payload != nil || j.Job.Meta != nil || j.Job.Result != nil {
			f.Errorf("job %d comes with what may be long", j.Job.ID)
		}
	}
	return answer
}

// whatOf tells which jobs were requeued and, in brackets, which were refused.
func whatOf(answer queue.RequeuedMany) (all string) {
	for _, j := range answer.Jobs {
		name := j.Job.Kind + "/" + j.Job.Key
		if j.Err != nil {
			name = "(" + name + ")"
		}
		if all != "" {
			all += " "
		}
		all += name
	}
	return all
}

func (f *fixture) requeuesAll() {
	f.everyState()
	answer := f.requeueMany(queue.RequeueMany{})
	if got := whatOf(answer); got != "a/dead (a/quarantined) a/cancelled b/dead (b/quarantined) b/cancelled" || answer.More {
		f.Errorf("%s, more %v", got, answer.More)
	}
	for _, j := range answer.Jobs {
		want := queue.StateReady
		if j.Err != nil {
			want = queue.StateQuarantined
		}
		job := f.get(j.Job.ID)
		if j.Job.State != want || job.State != want {
			f.Errorf("%s: answered %s, stands as %s, want %s", job.Key, j.Job.State, job.State, want)
		}
		if job.Payload = nil; fmt.Sprintf("%+v", job) != fmt.Sprintf("%+v", j.Job) {
			f.Errorf("answered %+v, stands as %+v", j.Job, job)
		}
		story := f.story(job.ID)
		if last := story[len(story)-1]; j.Err == nil && last.Event != queue.EventRequeue {
			f.Errorf("history %+v", last)
		}
	}
	answer = f.requeueMany(queue.RequeueMany{Requeue: queue.Requeue{Reviewed: true}})
	if got := whatOf(answer); got != "a/quarantined b/quarantined" {
		f.Errorf("reviewed: %s", got)
	}
	if got := whatOf(f.requeueMany(queue.RequeueMany{})); got != "" {
		f.Errorf("again: %s", got)
	}
	f.counted()
}

func (f *fixture) requeuesFiltered() {
	f.everyState()
	f.clock.Advance(time.Minute)
	f.add("a", "dead-later")
	for range 2 { // the one that was ready comes first
		f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead})
	}
	for _, c := range []struct {
		filter queue.Filter
		want   string
	}{
		{queue.Filter{KeyPrefix: "dead-"}, "a/dead-later"},
		{queue.Filter{Kind: "nobody"}, ""},
		{queue.Filter{Kind: "a", OlderThan: time.Minute, States: []queue.State{queue.StateDead, queue.StateDone}}, "a/dead"},
		{queue.Filter{States: []queue.State{queue.StateCancelled}}, "a/cancelled b/cancelled"},
		{queue.Filter{Kind: "b"}, "b/dead (b/quarantined)"},
		{queue.Filter{}, "(a/quarantined) a/ready (b/quarantined)"},
	} {
		if got := whatOf(f.requeueMany(queue.RequeueMany{Filter: c.filter})); got != c.want {
			f.Errorf("%+v: %q, want %q", c.filter, got, c.want)
		}
	}
}

// deadJobs makes n dead jobs of kind "a".
func (f *fixture) deadJobs(n int) {
	f.Helper()
	var jobs []queue.NewJob
	for i := range n {
		jobs = append(jobs, newJob("a", numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	runs := f.claims(want("a", n, rule))
	f.atOnce(len(runs), func(i int) {
		if _, err := f.settle(runs[i], queue.Outcome{Is: queue.RunDead}); err != nil {
			f.Error(err)
		}
	})
}

func (f *fixture) requeuesSpaced() {
	f.deadJobs(5)
	r := queue.RequeueMany{
		Requeue: queue.Requeue{Delay: time.Minute}, Spacing: 10 * time.Second, Filter: queue.Filter{Limit: 3},
	}
	answer := f.requeueMany(r)
	if len(answer.Jobs) != 3 || !answer.More {
		f.Fatalf("%+v", answer)
	}
	r.Filter.After, r.Requeue.Delay = answer.Jobs[2].Job.ID, r.Requeue.Delay+3*r.Spacing
	rest := f.requeueMany(r)
	for i, j := range append(answer.Jobs, rest.Jobs...) {
		want := f.clock.Now().Add(time.Minute + time.Duration(i)*10*time.Second)
		if j.Err != nil || j.Job.State != queue.StateScheduled || !j.Job.AvailableAt.Equal(want) || j.Job.Key != numbered(i) {
			f.Errorf("job %d: %+v, %v, want %v", i, j.Job, j.Err, want)
		}
	}
	f.clock.Advance(time.Minute)
	claim := want("a", 5, rule)
	claim.Lease = time.Hour
	for i := range 5 {
		if got := keysOf(f.claims(claim)); got != numbered(i) {
			f.Errorf("at step %d: %s", i, got)
		}
		f.clock.Advance(10 * time.Second)
	}
}

func (f *fixture) requeuesAround() {
	for i, is := range []queue.RunEnd{queue.RunDead, queue.RunQuarantine, queue.RunDead, queue.RunQuarantine, queue.RunDead} {
		f.add("a", numbered(i))
		f.settles(f.claim("a", rule), queue.Outcome{Is: is})
	}
	answer := f.requeueMany(queue.RequeueMany{Spacing: time.Second})
	if got := whatOf(answer); got != "a/000000 (a/000001) a/000002 (a/000003) a/000004" {
		f.Fatalf("%s", got)
	}
	for i, step := range map[int]time.Duration{0: 0, 2: time.Second, 4: 2 * time.Second} {
		job := answer.Jobs[i].Job
		if !job.AvailableAt.Equal(f.clock.Now().Add(step)) || (job.State == queue.StateReady) != (step == 0) {
			f.Errorf("job %d: %+v", i, job)
		}
	}
}

func (f *fixture) requeuesDry() {
	f.everyState()
	before := f.picture()
	r := queue.RequeueMany{DryRun: true, Spacing: time.Second}
	dry := f.requeueMany(r)
	f.unchanged(before, "a dry run")
	for _, j := range dry.Jobs {
		if got := f.get(j.Job.ID); got.State != j.Job.State {
			f.Errorf("answered %s, stands as %s", j.Job.State, got.State)
		}
	}
	r.DryRun = false
	if real := f.requeueMany(r); whatOf(real) != whatOf(dry) || real.More != dry.More {
		f.Errorf("would be %s, was %s", whatOf(dry), whatOf(real))
	}
}

func (f *fixture) requeuesPages() {
	const n = 250
	f.deadJobs(n)
	total, last := 0, int64(0)
	for pages := 1; ; pages++ {
		answer := f.requeueMany(queue.RequeueMany{Filter: queue.Filter{After: last}})
		for _, j := range answer.Jobs {
			if j.Err == nil {
				total++
			}
			last = j.Job.ID
		}
		if !answer.More {
			if pages != 3 {
				f.Errorf("%d pages of %d", pages, queue.DefaultPage)
			}
			break
		}
	}
	if m := f.metrics(); total != n || m.Ready != n {
		f.Errorf("requeued %d of %d: %+v", total, n, m.Counts)
	}
}

func (f *fixture) requeuesNothing() {
	f.everyState()
	before := f.picture()
	answer := f.requeueMany(queue.RequeueMany{Filter: queue.Filter{States: []queue.State{queue.StateDone, queue.StateLeased, queue.StateReady, queue.StateScheduled}}})
	if len(answer.Jobs) != 0 || answer.More {
		f.Errorf("%+v", answer)
	}
	f.unchanged(before, "a selection of nothing")
}
