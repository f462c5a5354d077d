package sqlite_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// requeuesMany makes a call that must not fail, and tells of each job: its id, then
// seconds until it is due or why it was refused.
func (f *fixture) requeuesMany(r queue.RequeueMany) (told []string, answer queue.RequeuedMany) {
	f.Helper()
	answer, err := f.RequeueMany(f.Context(), r)
	if err != nil {
		f.Fatal(err)
	}
	for _, j := range answer.Jobs {
		what := fmt.Sprint(j.Job.State)
		switch {
		case j.Err == nil:
			what += fmt.Sprint(" in ", j.Job.AvailableAt.Sub(f.clock.Now()))
		case !errors.Is(j.Err, queue.ErrConflict):
			f.Errorf("job %d: %v", j.Job.ID, j.Err)
		case strings.Contains(j.Err.Error(), "begun and not known"):
			what += ": open"
		case strings.Contains(j.Err.Error(), "only as reviewed"):
			what += ": not reviewed"
		}
		told = append(told, fmt.Sprintf("%d %s", j.Job.ID, what))
	}
	return told, answer
}

// aMess makes jobs of kind "a": 1 dead, 2 quarantined, 3 done, 4 cancelled, 5 ready,
// 6 quarantined with an open effect, 7 dead, 8 cancelled.
func (f *fixture) aMess() {
	f.Helper()
	for i, state := range []queue.State{queue.StateDead, queue.StateQuarantined, queue.StateDone, queue.StateCancelled, queue.StateReady} {
		f.brings(fmt.Sprint("x", i+1), state)
	}
	n := newJob("a", "x6")
	n.Priority = 50
	f.add(n)
	c := f.claimOne("a", queue.Rule{})
	f.begins(c, "charge", false)
	f.settles(c, queue.Outcome{Is: queue.RunUncertain})
	f.brings("y7", queue.StateDead)
	f.brings("y8", queue.StateCancelled)
}

func TestRequeueManyAnswersEach(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		r    queue.RequeueMany
		want []string
		more bool
	}{
		"all": {
			queue.RequeueMany{},
			[]string{"1 ready in 0s", "2 quarantined: not reviewed", "4 ready in 0s", "6 quarantined: open", "7 ready in 0s", "8 ready in 0s"}, false,
		},
		"reviewed": {
			queue.RequeueMany{Requeue: queue.Requeue{Reviewed: true}, Filter: queue.Filter{States: []queue.State{queue.StateQuarantined}}},
			[]string{"2 ready in 0s", "6 quarantined: open"}, false,
		},
		"at a rate, counting those that were requeued": {
			queue.RequeueMany{Requeue: queue.Requeue{Delay: time.Minute}, Spacing: 2 * time.Second},
			[]string{"1 scheduled in 1m0s", "2 quarantined: not reviewed", "4 scheduled in 1m2s", "6 quarantined: open", "7 scheduled in 1m4s", "8 scheduled in 1m6s"}, false,
		},
		"the first at once": {
			queue.RequeueMany{Spacing: time.Second, Filter: queue.Filter{States: []queue.State{queue.StateDead}}},
			[]string{"1 ready in 0s", "7 scheduled in 1s"}, false,
		},
		"a page": {
			queue.RequeueMany{Filter: queue.Filter{After: 1, Limit: 2}},
			[]string{"2 quarantined: not reviewed", "4 ready in 0s"}, true,
		},
		"the last page, full": {
			queue.RequeueMany{Filter: queue.Filter{After: 6, Limit: 2}},
			[]string{"7 ready in 0s", "8 ready in 0s"}, false,
		},
		"by key": {
			queue.RequeueMany{Filter: queue.Filter{KeyPrefix: "y", Kind: "a"}},
			[]string{"7 ready in 0s", "8 ready in 0s"}, false,
		},
		"of another kind":             {queue.RequeueMany{Filter: queue.Filter{Kind: "b"}}, nil, false},
		"older than they are":         {queue.RequeueMany{Filter: queue.Filter{OlderThan: time.Second}}, nil, false},
		"of states that cannot":       {queue.RequeueMany{Filter: queue.Filter{States: []queue.State{queue.StateDone, queue.StateReady}}}, nil, false},
		"of states some of which can": {queue.RequeueMany{Filter: queue.Filter{States: []queue.State{queue.StateDone, queue.StateDead}}}, []string{"1 ready in 0s", "7 ready in 0s"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.aMess()
			before := f.everything()
			dry := c.r
			dry.DryRun = true
			_, would := f.requeuesMany(dry)
			if after := f.everything(); !slices.Equal(after, before) {
				t.Errorf("a dry run changed %q\nto %q", before, after)
			}
			got, answer := f.requeuesMany(c.r)
			if !slices.Equal(got, c.want) || answer.More != c.more {
				t.Errorf("%q, more %t\nwant %q, more %t", got, answer.More, c.want, c.more)
			}
			// The dry run told of the same jobs the same, each as it stood.
			if len(would.Jobs) != len(answer.Jobs) || would.More != answer.More {
				t.Fatalf("the dry run told of %d jobs, more %t", len(would.Jobs), would.More)
			}
			for i, j := range would.Jobs {
				real := answer.Jobs[i]
				if j.Job.ID != real.Job.ID || fmt.Sprint(j.Err) != fmt.Sprint(real.Err) || !j.Job.State.Finished() && j.Job.State != queue.StateQuarantined {
					t.Errorf("the dry run told of job %d, %s, %v; the real one of job %d, %v", j.Job.ID, j.Job.State, j.Err, real.Job.ID, real.Err)
				}
			}
		})
	}
}

// everything is how each job stands, and what its history says.
func (f *fixture) everything() (list []string) {
	f.Helper()
	for _, id := range f.stands() {
		job := f.get(id)
		list = append(list, fmt.Sprintf("%+v %q", job, f.told(id)))
	}
	return list
}

// A job that is requeued with others is requeued as one by itself.
func TestRequeueManyRequeuesAsRequeueDoes(t *testing.T) {
	t.Parallel()
	one, many := newFixture(t), newFixture(t)
	for _, f := range []*fixture{one, many} {
		f.brings("1", queue.StateQuarantined)
		f.clock.Advance(time.Second)
	}
	job, err := one.Requeue(t.Context(), queue.Ref{ID: 1}, queue.Requeue{Reviewed: true, Delay: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	_, answer := many.requeuesMany(queue.RequeueMany{Requeue: queue.Requeue{Reviewed: true, Delay: time.Minute}})
	job.Payload, job.IdempotencyKey, answer.Jobs[0].Job.IdempotencyKey = nil, "", "" // of another queue
	if got, want := fmt.Sprintf("%+v", answer.Jobs[0].Job), fmt.Sprintf("%+v", job); got != want {
		t.Errorf("answered %s\nwant     %s", got, want)
	}
	if got, want := many.told(1), one.told(1); !slices.Equal(got, want) || got[len(got)-1] != "requeue scheduled reviewed" {
		t.Errorf("history %q, want %q", got, want)
	}
}

// Page after page, each job is requeued once, all at one rate.
func TestRequeueManyPageByPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const jobs = 25
	for i := range jobs {
		f.brings(fmt.Sprint(i), queue.StateCancelled)
	}
	r := queue.RequeueMany{Spacing: time.Second, Filter: queue.Filter{Limit: 10}}
	pages, n := 0, 0
	for more := true; more; pages++ {
		_, answer := f.requeuesMany(r)
		for _, j := range answer.Jobs {
			if due := f.get(j.Job.ID).AvailableAt; j.Err != nil || !due.Equal(start.Add(time.Duration(n)*time.Second)) {
				t.Errorf("job %d: due at %v, %v", j.Job.ID, due, j.Err)
			}
			n++
			r.Requeue.Delay += r.Spacing
			r.Filter.After = j.Job.ID
		}
		more = answer.More
	}
	if pages != 3 || n != jobs {
		t.Errorf("%d jobs on %d pages", n, pages)
	}
	m, err := f.Metrics(t.Context())
	if want := (queue.Counts{Ready: 1, Scheduled: jobs - 1}); err != nil || m.Counts != want {
		t.Errorf("counts: %+v, %v", m.Counts, err)
	}
}

// A job that another moved after the page was read, and no longer fits, is left out.
func TestRequeueManyAfterAnotherMovedTheJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	closed, touched, other := f.brings("1", queue.StateDead), f.brings("2", queue.StateDead), f.brings("3", queue.StateDead)
	f.clock.Advance(time.Minute)
	var told []string
	for _, err := range f.inOrder(
		func() error {
			_, err := f.CloseJob(f.Context(), closed, queue.Finding{As: queue.StateDone})
			return err
		},
		func() error { // dead as before, but since now
			_, err := f.CloseJob(f.Context(), touched, queue.Finding{As: queue.StateDead})
			return err
		},
		func() error {
			told, _ = f.requeuesMany(queue.RequeueMany{Filter: queue.Filter{OlderThan: time.Minute}})
			return nil
		},
	) {
		if err != nil {
			t.Error(err)
		}
	}
	if want := []string{fmt.Sprintf("%d ready in 0s", other.ID)}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}

// An answer without jobs is never followed by more.
func TestRequeueManyOfAPageThatAnotherMoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, second := f.brings("1", queue.StateDead), f.brings("2", queue.StateDead)
	var told []string
	for _, err := range f.inOrder(
		func() error { _, err := f.Requeue(f.Context(), first, queue.Requeue{}); return err },
		func() error {
			told, _ = f.requeuesMany(queue.RequeueMany{Filter: queue.Filter{Limit: 1}})
			return nil
		},
	) {
		if err != nil {
			t.Error(err)
		}
	}
	if want := []string{fmt.Sprintf("%d ready in 0s", second.ID)}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
}

func TestRequeueManyIsOneCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.aMess()
	before := f.everything()
	f.FailCommit(func(func() error) error { return trouble })
	if _, err := f.RequeueMany(t.Context(), queue.RequeueMany{}); err == nil {
		t.Error("a commit that failed was not told")
	}
	if after := f.everything(); !slices.Equal(after, before) {
		t.Errorf("after a commit that failed: %q\nwant %q", after, before)
	}
	if _, err := f.RequeueMany(t.Context(), queue.RequeueMany{Spacing: -1}); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a negative spacing: %v", err)
	}
}
