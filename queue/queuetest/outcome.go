package queuetest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var outcomeRules = rules{
	"every end of a run leads where the rules decide":       (*fixture).everyEnd,
	"every run that nobody settled leads where they decide": (*fixture).everyExpiry,
}

// ending is one way a run ends.
type ending struct {
	outcome queue.Outcome
	rule    queue.UncertainRule
	limit   int // attempts that the handler allows
	marked  bool
}

func (e ending) kind() string {
	return fmt.Sprintf("%s.%d", strings.ReplaceAll(string(e.rule)+"x", " ", ""), e.limit)
}

func (e ending) standing() queue.Standing {
	return queue.Standing{Marked: e.marked, Attempt: 1, MaxAttempts: e.limit, Uncertain: e.rule}
}

var uncertainRules = []queue.UncertainRule{
	"", queue.UncertainAsk, queue.UncertainRepeatable, queue.UncertainJournal, queue.UncertainRetry,
}

// endings are the ends of runs under every rule, at the attempt limit and below,
// marked and not.
func endings(outcomes []queue.Outcome) (all []ending) {
	for _, o := range outcomes {
		for _, rule := range uncertainRules {
			for _, limit := range []int{1, 3} {
				for _, marked := range []bool{false, true} {
					all = append(all, ending{outcome: o, rule: rule, limit: limit, marked: marked})
				}
			}
		}
	}
	return all
}

// outcomes are all that a run can be.
func outcomes() (all []queue.Outcome) {
	backoff := queue.Backoff{Base: 7 * time.Second, Max: time.Minute, Jitter: 0.5}
	for _, is := range []queue.RunEnd{
		queue.RunDone, queue.RunRetry, queue.RunDead, queue.RunUncertain, queue.RunQuarantine, queue.RunSnooze,
	} {
		for _, delay := range []*time.Duration{nil, after(0), after(5 * time.Second)} {
			for _, cutShort := range []bool{false, true} {
				for _, notGiven := range []bool{false, true} {
					o := queue.Outcome{Is: is, Reason: reasonOf(is), After: delay, CutShort: cutShort, NotGiven: notGiven, Backoff: backoff}
					if is == queue.RunDone {
						o.Result = []byte(`{"ok":true}`)
					}
					if s := (queue.Settlement{ID: 1, Outcome: o}); s.Check() == nil {
						all = append(all, o)
					}
				}
			}
		}
	}
	return all
}

// begins makes a run for each of the ends, marked where that says so.
func (f *fixture) begins(all []ending) []queue.Claimed {
	f.Helper()
	runs := make([]queue.Claimed, len(all))
	kinds := map[string]ending{}
	var jobs []queue.NewJob
	for i, e := range all {
		kinds[e.kind()] = e
		jobs = append(jobs, newJob(e.kind(), strconv.Itoa(i)))
	}
	for len(jobs) > 0 {
		n := min(len(jobs), queue.MaxBatch)
		if _, err := f.EnqueueMany(f.Context(), jobs[:n]); err != nil {
			f.Fatalf("enqueue: %v", err)
		}
		jobs = jobs[n:]
	}
	for kind, e := range kinds {
		for _, c := range f.claims(want(kind, queue.MaxBatch, queue.Rule{MaxAttempts: e.limit, Uncertain: e.rule})) {
			i, err := strconv.Atoi(c.Job.Key)
			if err != nil {
				f.Fatal(err)
			}
			runs[i] = c
		}
	}
	f.atOnce(len(all), func(i int) {
		if !all[i].marked {
			return
		}
		if job, err := f.Cancel(f.Context(), queue.Ref{ID: runs[i].Job.ID}); err != nil || job.State != queue.StateLeased || !job.CancelRequested {
			f.Errorf("mark job %d: %+v, %v", runs[i].Job.ID, job, err)
		}
	})
	return runs
}

// atOnce calls do for each of n, several at a time. It must not end the test.
func (f *fixture) atOnce(n int, do func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, 16) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

func (f *fixture) everyEnd() {
	all := endings(outcomes())
	runs := f.begins(all)
	f.clock.Advance(time.Second)
	f.atOnce(len(all), func(i int) {
		e, c := all[i], runs[i]
		d := queue.Decide(e.outcome, e.standing())
		s, err := f.settle(c, e.outcome)
		if err != nil {
			f.Errorf("%+v: %v", e, err)
			return
		}
		due := f.dueAfter(d, e.outcome)
		if s.State != d.To || s.Attempt != attemptAfter(d) || s.ExternalEffectsPossible != d.EffectsPossible ||
			s.Replay || s.Note != d.Note || !s.AvailableAt.Equal(due) {
			f.Errorf("%+v: answered %+v, decided %+v, due %v", e, s, d, due)
		}
		f.wentAsDecided(c, d, e.outcome)
	})
	f.counted()
}

// dueAfter is when a job is due that went as decided; zero if it does not wait.
func (f *fixture) dueAfter(d queue.Decision, o queue.Outcome) time.Time {
	switch d.RetryAt {
	case queue.RetryNow:
		return f.clock.Now()
	case queue.RetryAsked:
		return f.clock.Now().Add(*o.After)
	case queue.RetryBackoff:
		return f.clock.Now().Add(o.Backoff.Delay(1, func() float64 { return 0.5 }))
	}
	return time.Time{}
}

func attemptAfter(d queue.Decision) int {
	if d.GiveBack {
		return 0
	}
	return 1
}

// wentAsDecided looks at a job after its first run.
func (f *fixture) wentAsDecided(c queue.Claimed, d queue.Decision, o queue.Outcome) {
	job, err := f.Get(f.Context(), queue.Ref{ID: c.Job.ID})
	if err != nil {
		f.Errorf("get job %d: %v", c.Job.ID, err)
		return
	}
	review := d.EffectsPossible || d.To == queue.StateQuarantined
	state := d.To
	if due := f.dueAfter(d, o); state == queue.StateScheduled && !due.After(f.clock.Now()) {
		state = queue.StateReady // due at once, and so seen
	}
	if job.State != state || job.Attempt != attemptAfter(d) || job.ExternalEffectsPossible != d.EffectsPossible ||
		job.NeedsReview != review || job.Fence != c.Lease.Fence || job.Worker != "" || !job.LeaseExpiresAt.IsZero() {
		f.Errorf("%+v decided %+v, job %+v", o, d, job)
	}
	if due := f.dueAfter(d, o); !due.IsZero() && !job.AvailableAt.Equal(due) {
		f.Errorf("%+v decided %+v, due %v, want %v", o, d, job.AvailableAt, due)
	}
	if string(job.Result) != string(o.Result) {
		f.Errorf("%+v: result %s", o, job.Result)
	}
	story, err := f.History(f.Context(), job.ID, 1)
	if err != nil || len(story) != 1 {
		f.Errorf("history of job %d: %+v, %v", job.ID, story, err)
		return
	}
	last := story[0]
	if last.Event != d.Event || last.From != queue.StateLeased || last.To != d.To || last.Attempt != 1 ||
		last.Fence != c.Lease.Fence || last.Worker != "w1" || !last.At.Equal(f.clock.Now()) {
		f.Errorf("%+v decided %+v, history %+v", o, d, last)
	}
	for _, words := range []string{o.Reason, d.Note} {
		if !strings.Contains(last.Detail, words) || d.To != queue.StateDone && !strings.Contains(job.LastError, words) {
			f.Errorf("%+v decided %+v, but history says %q and the job %q", o, d, last.Detail, job.LastError)
		}
	}
}

func (f *fixture) everyExpiry() {
	all := endings([]queue.Outcome{{}})
	runs := f.begins(all)
	f.clock.Advance(leaseLength + margin)
	expired := map[int64]queue.Expired{}
	for _, e := range f.expires() {
		if _, twice := expired[e.ID]; twice {
			f.Errorf("expired twice: %+v", e)
		}
		expired[e.ID] = e
	}
	if len(expired) != len(all) {
		f.Errorf("expired %d runs, want %d", len(expired), len(all))
	}
	for i, e := range all {
		job := runs[i].Job
		d := queue.DecideExpiry(e.standing())
		want := queue.Expired{ID: job.ID, Kind: job.Kind, Key: job.Key, Fence: runs[i].Lease.Fence, Worker: "w1", To: d.To}
		if expired[job.ID] != want {
			f.Errorf("%+v: expired %+v, want %+v", e, expired[job.ID], want)
		}
		f.wentAsDecided(runs[i], d, e.outcome)
	}
	f.counted()
}
