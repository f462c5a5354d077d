package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func TestClaimOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	add := func(kind, key string, priority int, ago time.Duration) {
		n := newJob(kind, key)
		n.Priority, n.AvailableAt = priority, start.Add(-ago)
		f.add(n)
	}
	add("a", "late", 0, 0)
	add("a", "early", 0, time.Minute)
	add("a", "early-too", 0, time.Minute)
	add("a", "high", 10, 0)
	add("a", "low", -10, time.Hour)
	add("b", "other", 5, 0)
	if got := keys(f.claims(want("a", 2, queue.Rule{}))); got != "high early" {
		t.Errorf("two of a: %s", got)
	}
	if got := keys(f.claims(want("", 3, queue.Rule{}))); got != "other early-too late" {
		t.Errorf("three of any kind: %s", got)
	}
	r := want("b", 5, queue.Rule{})
	r.Wants = append(r.Wants, queue.Want{Kind: "nobody", Max: 1}, queue.Want{Kind: "a", Max: 5})
	if got := keys(f.claims(r)); got != "low" {
		t.Errorf("the rest: %s", got)
	}
}

func TestPausedKindIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	f.add(newJob("b", "1"))
	if err := f.Pause(t.Context(), "a", true); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	if got := f.claims(want("a", 1, queue.Rule{})); len(got) != 0 {
		t.Errorf("claimed %s of a paused kind", keys(got))
	}
	if got := f.claims(want("", 9, queue.Rule{})); len(got) != 1 || got[0].Job.Kind != "b" {
		t.Errorf("of any kind: %+v", got)
	}
	if err := f.Pause(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	f.claimOne("a", queue.Rule{})
}

func TestClaimNeverAnswersNothingWhileSomethingIsDue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = 2*sqlite.PromoteBound + 50
	var batch []queue.NewJob
	for i := range n {
		j := newJob("a", fmt.Sprint(i))
		j.AvailableAt = start.Add(time.Duration(1+i%7) * time.Second)
		if batch = append(batch, j); len(batch) == queue.MaxBatch || i == n-1 {
			if _, err := f.EnqueueMany(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
	}
	f.clock.Advance(time.Minute)
	first := f.claims(want("a", 1, queue.Rule{}))
	if len(first) != 1 || !first[0].Job.AvailableAt.Equal(start.Add(time.Second)) {
		t.Fatalf("the oldest due is not first: %+v", first)
	}
	total := 1
	for {
		c := f.claims(want("a", 400, queue.Rule{}))
		if len(c) == 0 {
			break
		}
		total += len(c)
	}
	if total != n {
		t.Errorf("claimed %d of %d before it answered nothing", total, n)
	}
}

func TestClaimOfNothingWritesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c, err := raw(t, f.Path()).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	version := func() (v int64) {
		// Of one connection: it moves with every commit of another.
		if err := c.QueryRowContext(t.Context(), `PRAGMA data_version`).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := version()
	f.claims(want("b", 1, queue.Rule{}))
	f.expires()
	if after := version(); after != before {
		t.Error("a claim that found nothing was a commit")
	}
	f.claims(want("a", 1, queue.Rule{}))
	if after := version(); after == before {
		t.Error("a claim that found something was none")
	}
}

func TestClaimChecksItsArguments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, change := range map[string]func(*queue.ClaimRequest){
		"no worker":      func(r *queue.ClaimRequest) { r.Worker = "" },
		"short lease":    func(r *queue.ClaimRequest) { r.Lease = time.Millisecond },
		"long lease":     func(r *queue.ClaimRequest) { r.Lease = 25 * time.Hour },
		"nothing wanted": func(r *queue.ClaimRequest) { r.Wants = nil },
		"none wanted":    func(r *queue.ClaimRequest) { r.Wants[0].Max = 0 },
		"odd kind":       func(r *queue.ClaimRequest) { r.Wants[0].Kind = "A b" },
	} {
		r := want("a", 1, queue.Rule{})
		change(&r)
		if _, err := f.Claim(t.Context(), r); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRetryWaitsNoLongerWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	s := f.settles(c, queue.Outcome{Is: queue.RunRetry, Reason: "no", Backoff: queue.Backoff{Base: time.Minute, Max: time.Minute}})
	if s.State != queue.StateScheduled || !s.AvailableAt.Equal(start.Add(time.Minute)) {
		t.Fatalf("retry: %+v", s)
	}
	f.clock.StepWall(-time.Hour)
	f.clock.Advance(59 * time.Second)
	if got := f.claims(want("a", 1, queue.Rule{})); len(got) != 0 {
		t.Error("claimed before its delay was over")
	}
	a, err := f.Agenda(t.Context(), []string{"a"})
	if err != nil || !a.NextDue.Equal(f.clock.Now().Add(time.Second)) {
		t.Errorf("agenda says %v at %v, %v", a.NextDue, f.clock.Now(), err)
	}
	f.clock.Advance(time.Second)
	if job := f.get(c.Job.ID); job.State != queue.StateReady {
		t.Errorf("shown as %s when its delay is over", job.State)
	}
	if m, err := f.Metrics(t.Context()); err != nil || m.Ready != 1 || m.Scheduled != 0 {
		t.Errorf("metrics: %+v, %v", m, err)
	}
	for state, n := range map[queue.State]int{queue.StateReady: 1, queue.StateScheduled: 0} {
		if jobs, err := f.List(t.Context(), queue.Filter{States: []queue.State{state}}); err != nil || len(jobs) != n {
			t.Errorf("list of %s: %d jobs, %v", state, len(jobs), err)
		}
	}
	f.claimOne("a", queue.Rule{})
}

// A job whose delay is over comes before those enqueued after that, also while the
// wall clock is behind.
func TestRetryIsNotOvertakenWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "old"))
	delay := 10 * time.Second
	f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunRetry, After: &delay})
	f.clock.StepWall(-2 * time.Hour)
	f.add(newJob("a", "before"))
	f.clock.Advance(11 * time.Second)
	over := f.clock.Now().Add(-time.Second)
	f.add(newJob("a", "after"))
	if got := f.get(1); got.State != queue.StateReady || !got.AvailableAt.Equal(over) {
		t.Errorf("shown as %s since %v, want ready since %v", got.State, got.AvailableAt, over)
	}
	if m, err := f.Metrics(t.Context()); err != nil || m.Kinds["a"].Ready != 3 || m.Kinds["a"].OldestReady != 11*time.Second {
		t.Errorf("metrics: %+v, %v", m.Kinds["a"], err)
	}
	if got := keys(f.claims(want("a", 3, queue.Rule{}))); got != "before old after" {
		t.Errorf("claimed %s", got)
	}
	if got := f.get(1); !got.AvailableAt.Equal(over) {
		t.Errorf("claimed as due at %v, want %v", got.AvailableAt, over)
	}
}

// fellDue enqueues n jobs of a kind that are then due and not yet promoted, each
// a millisecond after the one before.
func (f *fixture) fellDue(kind string, n int) {
	f.Helper()
	var batch []queue.NewJob
	for i := range n {
		j := newJob(kind, fmt.Sprintf("%06d", i))
		j.AvailableAt = f.clock.Now().Add(time.Hour + time.Duration(i)*time.Millisecond)
		if batch = append(batch, j); len(batch) == queue.MaxBatch || i == n-1 {
			if _, err := f.EnqueueMany(f.Context(), batch); err != nil {
				f.Fatal(err)
			}
			batch = nil
		}
	}
	f.clock.Advance(2*time.Hour + time.Duration(n)*time.Millisecond)
}

// Not every claim promotes when many are due, but the oldest due comes first all the
// same, also before those that were ready at once.
func TestManyDueComeInTheirOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fellDue("a", 300)
	late := f.add(newJob("a", "late"))
	for i := range 300 {
		if c := f.claimOne("a", queue.Rule{}); c.Job.ID != int64(i+1) {
			t.Fatalf("claim %d got job %d", i+1, c.Job.ID)
		}
	}
	if c := f.claimOne("a", queue.Rule{}); c.Job.ID != late.ID {
		t.Errorf("in the end: job %d, want %d", c.Job.ID, late.ID)
	}
}

// Many claims in one commit do not each promote as many as one claim would.
func TestCommitPromotesABoundedNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const claims = 30
	f.fellDue("a", 2000)
	for _, err := range together(f, claims, func(int) error {
		c, err := f.Claim(t.Context(), want("a", 1, queue.Rule{}))
		if err == nil && len(c) != 1 {
			err = fmt.Errorf("claimed %d jobs", len(c))
		}
		return err
	}, func() {}) {
		if err != nil {
			t.Error(err)
		}
	}
	promoted := 0
	if err := raw(t, f.Path()).QueryRow(`SELECT count(*) FROM jobs WHERE state <> 1`).Scan(&promoted); err != nil {
		t.Fatal(err)
	}
	// A part of them may have had a commit of their own.
	if promoted > 2*(sqlite.PromoteBound+claims) {
		t.Errorf("%d jobs were promoted for %d claims", promoted, claims)
	}
}

// When a commit has promoted all it may, its other claims still find what is due.
func TestClaimsOfOneCommitAllFindSomething(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const kinds = 40
	for i := range kinds {
		f.fellDue(fmt.Sprint("k", i), 70)
	}
	for _, err := range together(f, kinds, func(i int) error {
		kind := "" // any
		if i%2 == 0 {
			kind = fmt.Sprint("k", i)
		}
		c, err := f.Claim(t.Context(), want(kind, 1, queue.Rule{}))
		if err == nil && len(c) != 1 {
			err = fmt.Errorf("claim of kind %q found %d jobs", kind, len(c))
		}
		return err
	}, func() {}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// So does a want that comes after one that took all the commit may promote.
func TestWantAfterALargeOneFindsSomething(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fellDue("large", 3*sqlite.PromoteBound)
	f.fellDue("small", 5)
	for _, kind := range []string{"", "small"} { // of any kind; of its own
		r := want("large", sqlite.PromoteBound, queue.Rule{})
		r.Wants = append(r.Wants, queue.Want{Kind: kind, Max: 1})
		if got := len(f.claims(r)); got != sqlite.PromoteBound+1 {
			t.Errorf("with a want of kind %q: claimed %d", kind, got)
		}
	}
}

// What fell due earlier comes before what is ready, however many are asked for.
func TestClaimOfManyTakesTheOldest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fellDue("a", 600)
	for i := range 50 {
		f.add(newJob("a", fmt.Sprint("young-", i)))
	}
	c := f.claims(want("a", 600, queue.Rule{}))
	if len(c) != 600 {
		t.Fatalf("claimed %d", len(c))
	}
	for i := range c {
		if want := fmt.Sprintf("%06d", i); c[i].Job.Key != want {
			t.Fatalf("claimed %s at place %d, want %s", c[i].Job.Key, i, want)
		}
	}
}

// What a claim expires is said in the log, once; what Expire does is in its answer.
func TestClaimLogsWhatItExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var log bytes.Buffer
	q, err := sqlite.Open(t.Context(), f.Path(), sqlite.Options{
		Clock: f.clock, Logger: hclog.New(&hclog.LoggerOptions{Output: &log}),
	})
	if err != nil {
		t.Fatal(err)
	}
	f.add(newJob("a", "by-claim"))
	f.claimOne("a", queue.Rule{})
	f.clock.Advance(11 * time.Second)
	if c, err := q.Claim(t.Context(), want("b", 1, queue.Rule{})); err != nil || len(c) != 0 {
		t.Fatalf("claimed %+v, %v", c, err)
	}
	f.add(newJob("a", "by-expire"))
	f.claimOne("a", queue.Rule{})
	f.clock.Advance(11 * time.Second)
	if e, err := q.Expire(t.Context()); err != nil || len(e) != 1 {
		t.Fatalf("expired %+v, %v", e, err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); strings.Count(got, "lease expired") != 1 || !strings.Contains(got, "by-claim") || !strings.Contains(got, "w1") {
		t.Errorf("log:\n%s", got)
	}
}

// Counts that do not fit the jobs, by whatever hand, stop no claim: they are put
// right, which the fixture checks at the end.
func TestDriftedCountsAreCountedAnew(t *testing.T) {
	t.Parallel()
	for name, drift := range map[string]string{
		"too few": `UPDATE counts SET n = 0 WHERE state = 2`,
		"gone":    `DELETE FROM counts`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			for i := range 3 {
				f.add(newJob("a", fmt.Sprint(i)))
				f.add(newJob("b", fmt.Sprint(i)))
			}
			mustExec(t, raw(t, f.Path()), drift)
			f.claimOne("a", queue.Rule{})
			f.claimOne("b", queue.Rule{})
			if m, err := f.Metrics(t.Context()); err != nil || m.Ready != 4 || m.Leased != 2 {
				t.Errorf("metrics: %+v, %v", m.Counts, err)
			}
		})
	}
}

func TestClaimMost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	add := func(kind, key string, priority int) {
		n := newJob(kind, key)
		n.Priority = priority
		f.add(n)
	}
	add("a", "third", 0)
	add("b", "first", 9)
	add("b", "fourth", 0)
	add("c", "second", 5)
	r := want("a", 2, queue.Rule{})
	r.Wants = append(r.Wants, queue.Want{Kind: "b", Max: 2}, queue.Want{Kind: "b", Max: 1}, queue.Want{Kind: "c", Max: 2})
	r.Most = 1
	if got := keys(f.claims(r)); got != "first" {
		t.Errorf("one of all: %s, want the best", got)
	}
	r.Most = 2
	if got := keys(f.claims(r)); got != "second third" {
		t.Errorf("two of all: %s", got)
	}
	r.Most = 9
	if got := keys(f.claims(r)); got != "fourth" {
		t.Errorf("what is left: %s", got)
	}
}
