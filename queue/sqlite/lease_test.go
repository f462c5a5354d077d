package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// renews asks for one lease.
func (f *fixture) renews(c queue.Claimed, length time.Duration) queue.Renewed {
	f.Helper()
	r, err := f.Renew(f.Context(), []queue.Renewal{{ID: c.Job.ID, Token: c.Lease.Token, Length: length}})
	if err != nil {
		f.Fatal(err)
	}
	return r[0]
}

func TestRenew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	if got, want := c.Lease.Deadline, f.clock.Mono()+10*time.Second; got != want {
		t.Errorf("deadline %v, want %v", got, want)
	}
	f.clock.Advance(4 * time.Second)
	if r := f.renews(c, 2*time.Second); r.Err != nil || r.Deadline != c.Lease.Deadline {
		t.Errorf("a shorter renewal: %+v, want the deadline of before", r)
	}
	if r := f.renews(c, 10*time.Second); r.Err != nil || r.Deadline != f.clock.Mono()+10*time.Second || r.CancelRequested {
		t.Errorf("renewed: %+v", r)
	}
	if _, err := f.Cancel(t.Context(), queue.Ref{ID: c.Job.ID}); err != nil {
		t.Fatal(err)
	}
	if r := f.renews(c, 10*time.Second); r.Err != nil || !r.CancelRequested {
		t.Errorf("after a cancel: %+v", r)
	}
	f.clock.StepWall(48 * time.Hour)
	if r := f.renews(c, 10*time.Second); r.Err != nil {
		t.Errorf("after a step of the wall clock: %v", r.Err)
	}
	stranger := c
	stranger.Lease.Token = queue.NewToken()
	if r := f.renews(stranger, time.Second); !errors.Is(r.Err, queue.ErrLeaseLost) {
		t.Errorf("another token: %v", r.Err)
	}
	f.clock.Advance(10 * time.Second)
	if r := f.renews(c, 10*time.Second); !errors.Is(r.Err, queue.ErrLeaseLost) {
		t.Errorf("from the deadline on: %v", r.Err)
	}
	many, err := f.Renew(t.Context(), []queue.Renewal{{ID: 0, Length: time.Second}, {ID: 7, Length: time.Second}, {ID: 1, Length: 0}})
	if err != nil || !errors.Is(many[0].Err, queue.ErrInvalid) || !errors.Is(many[1].Err, queue.ErrLeaseLost) || !errors.Is(many[2].Err, queue.ErrInvalid) {
		t.Errorf("odd renewals: %+v, %v", many, err)
	}
	if _, err := f.Renew(t.Context(), make([]queue.Renewal, queue.MaxRenewals+1)); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("too many renewals: %v", err)
	}
}

// The old holder's every word is refused once its lease is over, also while
// nobody else has the job.
func TestOldTokenChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	old := f.claimOne("a", queue.Rule{Uncertain: queue.UncertainRetry})
	refuses := func(when string) {
		t.Helper()
		before := f.get(old.Job.ID)
		for _, is := range []queue.RunEnd{queue.RunDone, queue.RunRetry, queue.RunDead, queue.RunUncertain, queue.RunQuarantine, queue.RunSnooze} {
			_, err := f.Settle(t.Context(), queue.Settlement{ID: 1, Token: old.Lease.Token, Outcome: queue.Outcome{Is: is}})
			if !errors.Is(err, queue.ErrLeaseLost) {
				t.Errorf("%s: %s answers %v", when, is, err)
			}
		}
		if r := f.renews(old, 10*time.Second); !errors.Is(r.Err, queue.ErrLeaseLost) {
			t.Errorf("%s: renew answers %v", when, r.Err)
		}
		after := f.get(old.Job.ID)
		if fmt.Sprintf("%+v", before) != fmt.Sprintf("%+v", after) {
			t.Errorf("%s: the job changed:\n%+v\n%+v", when, before, after)
		}
	}
	f.clock.Advance(10 * time.Second)
	refuses("at the deadline")
	if got := f.expires(); len(got) != 0 {
		t.Errorf("expired before the margin was over: %+v", got)
	}
	f.clock.Advance(time.Second)
	refuses("after the margin")
	if got := f.expires(); len(got) != 1 || got[0].To != queue.StateReady || got[0].Fence != 1 || got[0].Worker != "w1" || got[0].Kind != "a" || got[0].Key != "1" {
		t.Errorf("expired: %+v", got)
	}
	refuses("while it is ready")
	// The same worker's name is not the same claim.
	now := f.claimOne("a", queue.Rule{})
	if now.Lease.Fence != 2 || now.Lease.Token == old.Lease.Token || now.Job.Attempt != 2 {
		t.Errorf("second claim: %+v", now.Lease)
	}
	refuses("while another claim holds it")
	f.settles(now, queue.Outcome{Is: queue.RunDone})
	refuses("when it is done")
}

func TestExpiryFollowsTheStoredRule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct {
		rule    queue.UncertainRule
		to      queue.State
		at      queue.State // at the attempt limit
		effects bool
	}{
		{"", queue.StateQuarantined, queue.StateQuarantined, true},
		{queue.UncertainAsk, queue.StateQuarantined, queue.StateQuarantined, true},
		{queue.UncertainRepeatable, queue.StateReady, queue.StateQuarantined, true},
		{queue.UncertainJournal, queue.StateReady, queue.StateDead, false},
		{queue.UncertainRetry, queue.StateReady, queue.StateDead, false},
	} {
		for limit, to := range map[int]queue.State{2: c.to, 1: c.at} {
			kind := fmt.Sprintf("k%s%d", c.rule, limit)
			job := f.add(newJob(kind, "1"))
			f.claimOne(kind, queue.Rule{MaxAttempts: limit, Uncertain: c.rule})
			f.clock.Advance(11 * time.Second)
			if got := f.expires(); len(got) != 1 || got[0].To != to {
				t.Errorf("rule %q, limit %d: %+v, want %s", c.rule, limit, got, to)
			}
			got := f.get(job.ID)
			if got.State != to || got.ExternalEffectsPossible != c.effects || got.LastError == "" || got.MaxAttempts != limit || got.Attempt != 1 {
				t.Errorf("rule %q, limit %d: %+v", c.rule, limit, got)
			}
			if to == queue.StateReady && !got.AvailableAt.Equal(f.clock.Now()) {
				t.Errorf("rule %q: due %v, want at once", c.rule, got.AvailableAt)
			}
		}
	}
}

func TestClaimExpiresFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	f.claimOne("a", queue.Rule{Uncertain: queue.UncertainRepeatable})
	f.clock.Advance(11 * time.Second)
	if again := f.claimOne("a", queue.Rule{}); again.Job.Attempt != 2 || again.Lease.Fence != 2 {
		t.Errorf("claimed again: %+v", again.Job)
	}
}

func TestExpiryIsBoundedAndEndsEverything(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = sqlite.ExpireBound + 10
	jobs := make([]queue.NewJob, n)
	for i := range jobs {
		jobs[i] = newJob("a", fmt.Sprint(i))
	}
	if _, err := f.EnqueueMany(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
	f.claims(want("a", n, queue.Rule{}))
	f.clock.Advance(11 * time.Second)
	if first, second, third := len(f.expires()), len(f.expires()), len(f.expires()); first != sqlite.ExpireBound || second != 10 || third != 0 {
		t.Errorf("expired %d, %d, %d", first, second, third)
	}
}

// fileVersion is of the file: it moves with every commit of another connection
// than its own.
func fileVersion(t *testing.T, path string) (version func() int64) {
	t.Helper()
	c, err := raw(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return func() (v int64) {
		if err := c.QueryRowContext(context.Background(), `PRAGMA data_version`).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// After a restart of the machine a lease has its full length and two margins from
// when it was first seen. Who looks at it writes nothing, and knows when to look.
func TestLeaseOfAnotherBootIsWatched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	f.clock.Reboot(time.Hour)
	f.reopen()
	version := fileVersion(t, f.Path())
	before := version()
	at := f.clock.Mono() + 12*time.Second
	for range 3 {
		if a, err := f.Agenda(t.Context(), nil); err != nil || !a.HasNextExpiry || a.NextExpiry != at {
			t.Errorf("agenda: %+v, %v, want a look at %v", a, err, at)
		}
		if got := f.expires(); len(got) != 0 {
			t.Fatalf("expired early: %+v", got)
		}
		f.claims(want("a", 1, queue.Rule{}))
		if got, want := f.get(1).LeaseExpiresAt, f.clock.Now().Add(at-f.clock.Mono()-time.Second); !got.Equal(want) {
			t.Errorf("shown as ending %v, want %v", got, want)
		}
		f.clock.Advance(time.Second)
	}
	if version() != before {
		t.Error("whoever looked at it wrote something")
	}
	f.clock.Advance(8500 * time.Millisecond)
	if r := f.renews(c, 10*time.Second); r.Err != nil {
		t.Errorf("its holder still lives: %v", r.Err)
	}
	f.clock.Advance(11*time.Second - 1)
	if got := f.expires(); len(got) != 0 {
		t.Errorf("expired early: %+v", got)
	}
	f.clock.Advance(1)
	if got := f.expires(); len(got) != 1 {
		t.Errorf("not expired: %+v", got)
	}
}

// otherBoot is a clock that agrees with the fixture's in all but its boot.
type otherBoot struct {
	queue.Clock
	boot string
}

func (c otherBoot) Boot() string { return c.boot }

// under opens the file as a process that names another boot, "" for none.
func (f *fixture) under(boot string) *fixture {
	f.Helper()
	q, err := sqlite.Open(f.Context(), f.Path(), sqlite.Options{Clock: otherBoot{f.clock, boot}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = q.Close() })
	return &fixture{TB: f.TB, Queue: q, clock: f.clock}
}

// Observers of several boots on one file do not keep a lease alive among
// themselves, and its holder does.
func TestLeaseAmongSeveralBoots(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	others := []*fixture{f.under("b"), f.under("c"), f.under(""), f.under("")}
	f.add(newJob("a", "1"))
	r := want("a", 1, queue.Rule{})
	r.Lease = time.Second
	c := f.claims(r)[0]
	look := func() (expired int) {
		f.clock.Advance(500 * time.Millisecond)
		for i, o := range others {
			expired += len(o.expires())
			a, err := o.Agenda(t.Context(), nil)
			if err != nil || expired == 0 && (!a.HasNextExpiry || a.NextExpiry <= f.clock.Mono()) {
				t.Errorf("observer %d: agenda %+v, %v, at %v", i, a, err, f.clock.Mono())
			}
		}
		return expired
	}
	for i := range 10 {
		if r := f.renews(c, time.Second); r.Err != nil {
			t.Fatal(r.Err)
		}
		if look() != 0 {
			t.Fatalf("expired while its holder renewed it, at look %d", i)
		}
	}
	// Not renewed any more: first seen as it is half a second ago.
	for range 2 {
		if look() != 0 {
			t.Error("expired before its length and two margins were over")
		}
	}
	if got := look(); got != 1 {
		t.Errorf("expired %d times, want once", got)
	}
}

// A process that knows no boot is another one each time it starts; the file does
// not remember them all.
func TestBootsAreForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	delay := time.Minute
	for i := range 5 {
		o := f.under("")
		job := o.add(newJob("a", fmt.Sprint(i)))
		o.settles(o.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunRetry, After: &delay})
		o.clock.Advance(time.Hour)
		o.settles(o.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunDone})
		if got := o.get(job.ID); got.State != queue.StateDone {
			t.Errorf("job %d: %+v", i, got)
		}
	}
	n := 0
	if err := raw(t, f.Path()).QueryRow(`SELECT count(*) FROM boots`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d boots in the file, %v, want the last", n, err)
	}
	// One under which a delay counts is kept, and so is one with a lease.
	f.add(newJob("b", "delayed"))
	f.settles(f.claimOne("b", queue.Rule{}), queue.Outcome{Is: queue.RunRetry, After: &delay})
	o := f.under("other")
	o.add(newJob("c", "1"))
	o.claimOne("c", queue.Rule{})
	f.clock.StepWall(-2 * time.Hour)
	f.clock.Advance(delay)
	o = f.under("third")
	o.add(newJob("c", "2"))
	o.claimOne("c", queue.Rule{})
	if got := f.claims(want("b", 1, queue.Rule{})); len(got) != 1 {
		t.Error("its delay was forgotten with its boot")
	}
}

// Another boot's lease is live until somebody expired it.
func TestSettleOfAnotherBoot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	f.clock.Reboot(time.Minute)
	f.reopen()
	if s := f.settles(c, queue.Outcome{Is: queue.RunDone}); s.State != queue.StateDone {
		t.Errorf("settled: %+v", s)
	}
}
