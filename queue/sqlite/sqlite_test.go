package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// start is where the fake clocks of these tests stand.
var start = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// fixture is a queue in a file of its own, on a clock that the test moves.
type fixture struct {
	testing.TB
	*sqlite.Queue
	clock    *clock.Fake
	lockWait time.Duration
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureIn(t, t.TempDir())
}

func newFixtureIn(t testing.TB, dir string) *fixture {
	t.Helper()
	// A test that holds the lock until others wait for it may take its time on a busy
	// machine.
	return newFixtureOf(t, dir, time.Minute)
}

// newFixtureOf makes a queue that waits so long for its lock; 0: as it does by itself.
func newFixtureOf(t testing.TB, dir string, lockWait time.Duration) *fixture {
	t.Helper()
	f := &fixture{TB: t, clock: clock.NewFake(start), lockWait: lockWait}
	path := filepath.Join(dir, "q.db")
	if err := sqlite.Create(t.Context(), path, f.options()); err != nil {
		t.Fatal(err)
	}
	// Runs after the queues are closed: whatever a test did, the file is sound.
	t.Cleanup(func() { sound(t, path) })
	f.Queue = f.open(path)
	return f
}

func (f *fixture) options() sqlite.Options {
	return sqlite.Options{Clock: f.clock, Random: func() float64 { return 0.5 }, LockWait: f.lockWait}
}

// open opens the same file once more.
func (f *fixture) open(path string) *sqlite.Queue {
	f.Helper()
	q, err := sqlite.Open(f.Context(), path, f.options())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := q.Close(); err != nil {
			f.Error(err)
		}
	})
	return q
}

// reopen closes the queue and opens its file anew.
func (f *fixture) reopen() {
	f.Helper()
	if err := f.Close(); err != nil {
		f.Fatal(err)
	}
	f.Queue = f.open(f.Path())
}

func newJob(kind, key string) queue.NewJob {
	return queue.NewJob{Kind: kind, Key: key, Payload: jsontext.Value(`{"n":1}`)}
}

// add enqueues a job that must be new.
func (f *fixture) add(n queue.NewJob) queue.Job {
	f.Helper()
	e, err := f.Enqueue(f.Context(), n)
	if err != nil {
		f.Fatal(err)
	}
	if !e.Created {
		f.Fatalf("%s/%s exists already", n.Kind, n.Key)
	}
	return e.Job
}

func want(kind string, n int, rule queue.Rule) queue.ClaimRequest {
	return queue.ClaimRequest{
		Worker: "w1", Lease: 10 * time.Second,
		Wants: []queue.Want{{Kind: kind, Max: n, Rule: rule}},
	}
}

// claims makes a claim that must not fail.
func (f *fixture) claims(r queue.ClaimRequest) []queue.Claimed {
	f.Helper()
	c, err := f.Claim(f.Context(), r)
	if err != nil {
		f.Fatal(err)
	}
	return c
}

// claimOne claims one job of a kind, which must be there.
func (f *fixture) claimOne(kind string, rule queue.Rule) queue.Claimed {
	f.Helper()
	c := f.claims(want(kind, 1, rule))
	if len(c) != 1 {
		f.Fatalf("claimed %d jobs of kind %s, want 1", len(c), kind)
	}
	return c[0]
}

// settles ends a run by its live lease.
func (f *fixture) settles(c queue.Claimed, o queue.Outcome) queue.Settled {
	f.Helper()
	s, err := f.Settle(f.Context(), queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: o})
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// get answers the job as it stands.
func (f *fixture) get(id int64) queue.Job {
	f.Helper()
	j, err := f.Get(f.Context(), queue.Ref{ID: id})
	if err != nil {
		f.Fatal(err)
	}
	return j
}

// expires ends leases that are over.
func (f *fixture) expires() []queue.Expired {
	f.Helper()
	e, err := f.Expire(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return e
}

// until looks again each millisecond: nothing outside the engine is told when a
// request stands in the writer's queue, or when the log was copied. The test's own
// time limit ends it.
func until(there func() bool) {
	for !there() {
		time.Sleep(time.Millisecond)
	}
}
