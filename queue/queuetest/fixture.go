package queuetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
)

// start is where the clocks of the suite stand at first.
var start = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// fixture is a queue under test, on a clock that the test moves.
type fixture struct {
	*testing.T
	Queue
	engine Engine
	store  Store
	clock  *clock.Fake
}

func newFixture(t *testing.T, e Engine) *fixture {
	t.Helper()
	return newFixtureWith(t, e, func() float64 { return 0.5 })
}

func newFixtureWith(t *testing.T, e Engine, random func() float64) *fixture {
	t.Helper()
	f := &fixture{T: t, engine: e, clock: clock.NewFake(start)}
	f.store = e.New(t, f.clock, random)
	f.Queue = f.open()
	return f
}

// open opens one more handle on the store.
func (f *fixture) open() Queue {
	f.Helper()
	q, err := f.store.Open(f.Context())
	if err != nil {
		f.Fatalf("open: %v", err)
	}
	f.Cleanup(func() {
		if err := q.Close(); err != nil {
			f.Errorf("close: %v", err)
		}
	})
	return q
}

// beside is the same queue through a handle of its own.
func (f *fixture) beside() *fixture {
	f.Helper()
	other := *f
	other.Queue = f.open()
	return &other
}

// reopen closes the queue and opens it anew.
func (f *fixture) reopen() {
	f.Helper()
	if err := f.Close(); err != nil {
		f.Fatalf("close: %v", err)
	}
	f.Queue = f.open()
}

// newJob asks for a job with a small payload.
func newJob(kind, key string) queue.NewJob {
	return queue.NewJob{Kind: kind, Key: key, Payload: jsontext.Value(`{"n":1}`)}
}

// adds enqueues a job that must be new.
func (f *fixture) adds(n queue.NewJob) queue.Job {
	f.Helper()
	e, err := f.Enqueue(f.Context(), n)
	if err != nil {
		f.Fatalf("enqueue %s/%s: %v", n.Kind, n.Key, err)
	}
	if !e.Created || e.Pruned {
		f.Fatalf("enqueue %s/%s: it exists already: %+v", n.Kind, n.Key, e)
	}
	return e.Job
}

// add enqueues a small new job.
func (f *fixture) add(kind, key string) queue.Job {
	f.Helper()
	return f.adds(newJob(kind, key))
}

// want asks for up to n jobs of a kind, for ten seconds.
func want(kind string, n int, rule queue.Rule) queue.ClaimRequest {
	return queue.ClaimRequest{
		Worker: "w1", Lease: leaseLength,
		Wants: []queue.Want{{Kind: kind, Max: n, Rule: rule}},
	}
}

// leaseLength is that of the suite's claims, and margin its margin.
const (
	leaseLength = 10 * time.Second
	margin      = time.Second
)

// claims makes a claim that must not fail.
func (f *fixture) claims(r queue.ClaimRequest) []queue.Claimed {
	f.Helper()
	c, err := f.Claim(f.Context(), r)
	if err != nil {
		f.Fatalf("claim: %v", err)
	}
	return c
}

// claim claims one job of a kind, which must be there.
func (f *fixture) claim(kind string, rule queue.Rule) queue.Claimed {
	f.Helper()
	c := f.claims(want(kind, 1, rule))
	if len(c) != 1 {
		f.Fatalf("claimed %d jobs of kind %q, want 1", len(c), kind)
	}
	return c[0]
}

// settle ends a run.
func (f *fixture) settle(c queue.Claimed, o queue.Outcome) (queue.Settled, error) {
	return f.Settle(f.Context(), queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: o})
}

// settles ends a run by its live lease.
func (f *fixture) settles(c queue.Claimed, o queue.Outcome) queue.Settled {
	f.Helper()
	s, err := f.settle(c, o)
	if err != nil {
		f.Fatalf("settle job %d as %s: %v", c.Job.ID, o.Is, err)
	}
	return s
}

// renew keeps one lease.
func (f *fixture) renew(c queue.Claimed, length time.Duration) queue.Renewed {
	f.Helper()
	r, err := f.Renew(f.Context(), []queue.Renewal{{ID: c.Job.ID, Token: c.Lease.Token, Length: length}})
	if err != nil || len(r) != 1 {
		f.Fatalf("renew: %+v, %v", r, err)
	}
	return r[0]
}

// expires ends leases that are over.
func (f *fixture) expires() (all []queue.Expired) {
	f.Helper()
	for {
		some, err := f.Expire(f.Context())
		if err != nil {
			f.Fatalf("expire: %v", err)
		}
		if all = append(all, some...); len(some) == 0 {
			return all
		}
	}
}

// get answers the job as it stands.
func (f *fixture) get(id int64) queue.Job {
	f.Helper()
	j, err := f.Get(f.Context(), queue.Ref{ID: id})
	if err != nil {
		f.Fatalf("get job %d: %v", id, err)
	}
	return j
}

// story is the history of a job, all of it.
func (f *fixture) story(id int64) []queue.Entry {
	f.Helper()
	list, err := f.History(f.Context(), id, queue.MaxHistory)
	if err != nil {
		f.Fatalf("history of job %d: %v", id, err)
	}
	return list
}

// metrics counts the jobs.
func (f *fixture) metrics() queue.Metrics {
	f.Helper()
	m, err := f.Metrics(f.Context())
	if err != nil {
		f.Fatalf("metrics: %v", err)
	}
	return m
}

// list answers what a filter selects.
func (f *fixture) list(filter queue.Filter) []queue.Job {
	f.Helper()
	jobs, err := f.List(f.Context(), filter)
	if err != nil {
		f.Fatalf("list: %v", err)
	}
	return jobs
}

// refused fails the test if err is not the refusal that was to be expected.
func (f *fixture) refused(err, as error, words ...string) {
	f.Helper()
	if !errors.Is(err, as) {
		f.Errorf("answered %v, want one that is %q", err, as)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			f.Errorf("%q does not say %q", err, word)
		}
	}
}

// keysOf lists the keys of what was claimed.
func keysOf(list []queue.Claimed) string {
	var keys []string
	for _, c := range list {
		keys = append(keys, c.Job.Key)
	}
	return strings.Join(keys, " ")
}

// keysIn lists the keys of jobs.
func keysIn(jobs []queue.Job) string {
	var keys []string
	for _, j := range jobs {
		keys = append(keys, j.Key)
	}
	return strings.Join(keys, " ")
}

// ago is a time before the clock's.
func (f *fixture) ago(d time.Duration) time.Time { return f.clock.Now().Add(-d) }

// after points to a delay.
func after(d time.Duration) *time.Duration { return &d }

// ended is a context that has ended.
func ended(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	cancel()
	return ctx
}

// numbered is a key that sorts by its number.
func numbered(i int) string { return fmt.Sprintf("%06d", i) }
