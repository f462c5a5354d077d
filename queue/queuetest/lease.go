package queuetest

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

var leaseRules = rules{
	"a lease ends at its deadline, to the nanosecond":            (*fixture).deadline,
	"a renewal begins the lease anew":                            (*fixture).renewal,
	"a renewal never shortens a lease":                           (*fixture).neverShorter,
	"a renewal never revives a lease":                            (*fixture).neverRevives,
	"a renewal tells of the cancel mark":                         (*fixture).renewalTells,
	"a renewal writes no history and moves nothing":              (*fixture).renewalMovesNothing,
	"a step of the wall clock moves no lease":                    (*fixture).wallMovesNoLease,
	"a reopening moves no lease":                                 (*fixture).reopeningMovesNoLease,
	"a token is good for its own job alone":                      (*fixture).tokenOfAnother,
	"an old token changes nothing, whatever has become of a job": (*fixture).oldToken,
	"leases of several lengths are kept each by its own":         (*fixture).lengths,
}

func (f *fixture) deadline() {
	f.add("a", "1")
	c := f.claim("a", rule)
	f.clock.Advance(leaseLength)
	before := f.picture()
	if r := f.renew(c, leaseLength); r.Err == nil {
		f.Error("renewed at the deadline")
	} else {
		f.refused(r.Err, queue.ErrLeaseLost)
	}
	_, err := f.settle(c, queue.Outcome{Is: queue.RunDone})
	f.refused(err, queue.ErrLeaseLost)
	f.unchanged(before, "a lost lease")

	f.add("b", "1")
	c = f.claim("b", rule)
	f.clock.Advance(leaseLength - 1)
	if s := f.settles(c, queue.Outcome{Is: queue.RunDone}); s.State != queue.StateDone {
		f.Errorf("just before the deadline: %+v", s)
	}
}

func (f *fixture) renewal() {
	f.add("a", "1")
	c := f.claim("a", rule)
	for range 5 {
		f.clock.Advance(leaseLength - time.Nanosecond)
		if r := f.renew(c, leaseLength); r.Err != nil || r.Deadline != f.clock.Mono()+leaseLength || r.CancelRequested {
			f.Fatalf("renewed: %+v", r)
		}
		if got := f.get(c.Job.ID).LeaseExpiresAt.Sub(f.clock.Now().Add(leaseLength)).Abs(); got > time.Millisecond {
			f.Errorf("shown as ending %v off", got)
		}
	}
	// From here on the new length counts, for the margin too.
	if r := f.renew(c, 2*leaseLength); r.Err != nil || r.Deadline != f.clock.Mono()+2*leaseLength {
		f.Errorf("longer: %+v", r)
	}
	f.clock.Advance(2*leaseLength + 2*margin - 1)
	if got := f.expires(); len(got) != 0 {
		f.Errorf("expired in its margin: %+v", got)
	}
	f.clock.Advance(1)
	if got := f.expires(); len(got) != 1 {
		f.Errorf("not expired after its margin: %+v", got)
	}
}

func (f *fixture) neverShorter() {
	f.add("a", "1")
	c := f.claim("a", rule)
	f.clock.Advance(4 * time.Second)
	if r := f.renew(c, 2*time.Second); r.Err != nil || r.Deadline != c.Lease.Deadline {
		f.Errorf("a shorter renewal: %+v, want the deadline of before", r)
	}
	if r := f.renew(c, 6*time.Second); r.Err != nil || r.Deadline != c.Lease.Deadline {
		f.Errorf("an equal renewal: %+v", r)
	}
	f.clock.Advance(6*time.Second - 1)
	if r := f.renew(c, queue.MinLease); r.Err != nil || r.Deadline != f.clock.Mono()+queue.MinLease {
		f.Errorf("at the end: %+v", r)
	}
}

func (f *fixture) neverRevives() {
	f.add("a", "1")
	c := f.claim("a", rule)
	f.clock.Advance(leaseLength)
	for _, when := range []time.Duration{0, margin, time.Hour} {
		f.clock.Advance(when)
		if r := f.renew(c, leaseLength); r.Err == nil {
			f.Errorf("renewed %v later", when)
		} else {
			f.refused(r.Err, queue.ErrLeaseLost)
		}
	}
	f.isIn(c.Job.ID, queue.StateLeased) // nobody has expired it
	if got := f.claims(want("a", 1, rule)); len(got) != 1 || got[0].Job.Attempt != 2 {
		f.Errorf("a claim expires it and takes it: %+v", got)
	}
	if r := f.renew(c, leaseLength); r.Err == nil {
		f.Error("renewed another's lease")
	}
}

func (f *fixture) renewalTells() {
	f.add("a", "1")
	c := f.claim("a", rule)
	if r := f.renew(c, leaseLength); r.CancelRequested {
		f.Error("a mark that nobody set")
	}
	if _, err := f.beside().Cancel(f.Context(), queue.Ref{ID: c.Job.ID}); err != nil {
		f.Fatal(err)
	}
	for range 2 {
		if r := f.renew(c, leaseLength); r.Err != nil || !r.CancelRequested {
			f.Errorf("renewed %+v", r)
		}
	}
	if r := f.renew(c, time.Second); r.Err != nil || !r.CancelRequested {
		f.Errorf("a renewal that changes nothing: %+v", r)
	}
}

func (f *fixture) renewalMovesNothing() {
	f.add("a", "1")
	c := f.claim("a", rule)
	before, story := f.get(c.Job.ID), len(f.story(c.Job.ID))
	f.clock.Advance(time.Second)
	f.renew(c, leaseLength)
	now := f.get(c.Job.ID)
	if len(f.story(c.Job.ID)) != story || !now.UpdatedAt.Equal(before.UpdatedAt) || now.Fence != before.Fence || now.Attempt != 1 {
		f.Errorf("was %+v, is %+v", before, now)
	}
}

func (f *fixture) wallMovesNoLease() {
	f.add("a", "1")
	c := f.claim("a", rule)
	for _, step := range []time.Duration{48 * time.Hour, -96 * time.Hour} {
		f.clock.StepWall(step)
		if got := f.expires(); len(got) != 0 {
			f.Errorf("expired by a step of %v: %+v", step, got)
		}
		if r := f.renew(c, leaseLength); r.Err != nil || r.Deadline != f.clock.Mono()+leaseLength {
			f.Errorf("after a step of %v: %+v", step, r)
		}
		if got := f.get(c.Job.ID).LeaseExpiresAt; !got.Equal(f.clock.Now().Add(leaseLength)) {
			f.Errorf("shown as ending %v at %v", got, f.clock.Now())
		}
	}
	f.clock.Advance(leaseLength)
	f.clock.StepWall(-48 * time.Hour)
	if r := f.renew(c, leaseLength); r.Err == nil {
		f.Error("the wall clock gave more time")
	}
}

func (f *fixture) reopeningMovesNoLease() {
	f.add("a", "1")
	c := f.claim("a", rule)
	f.clock.Advance(leaseLength / 2)
	f.reopen()
	if r := f.renew(c, queue.MinLease); r.Err != nil || r.Deadline != c.Lease.Deadline {
		f.Errorf("renewed %+v, want the deadline %v of before", r, c.Lease.Deadline)
	}
	f.clock.Advance(leaseLength/2 - 1)
	f.reopen()
	f.settles(c, queue.Outcome{Is: queue.RunDone})
}

func (f *fixture) tokenOfAnother() {
	f.add("a", "1")
	f.add("a", "2")
	c := f.claims(want("a", 2, rule))
	before := f.picture()
	c[0].Lease.Token, c[1].Lease.Token = c[1].Lease.Token, c[0].Lease.Token
	for i := range c {
		if r := f.renew(c[i], leaseLength); r.Err == nil {
			f.Error("renewed by another job's token")
		}
		_, err := f.settle(c[i], queue.Outcome{Is: queue.RunDone})
		f.refused(err, queue.ErrLeaseLost)
		c[i].Lease.Token = queue.Token{}
		_, err = f.settle(c[i], queue.Outcome{Is: queue.RunDone})
		f.refused(err, queue.ErrLeaseLost)
	}
	f.unchanged(before, "a wrong token")
}

func (f *fixture) oldToken() {
	f.add("a", "1")
	old := f.claim("a", rule)
	refuses := func(when string) {
		f.Helper()
		before := f.picture()
		for _, is := range []queue.RunEnd{queue.RunDone, queue.RunRetry, queue.RunDead, queue.RunUncertain, queue.RunQuarantine, queue.RunSnooze} {
			_, err := f.settle(old, queue.Outcome{Is: is, Reason: reasonOf(is)})
			f.refused(err, queue.ErrLeaseLost)
		}
		if r := f.renew(old, leaseLength); r.Err == nil {
			f.Errorf("%s: renewed", when)
		}
		f.unchanged(before, "an old token "+when)
	}
	f.clock.Advance(leaseLength)
	refuses("at the deadline")
	f.clock.Advance(margin)
	refuses("after the margin")
	f.expires()
	refuses("while it is ready")
	now := f.claim("a", rule) // the same worker's name is not the same claim
	refuses("while another claim holds it")
	f.settles(now, queue.Outcome{Is: queue.RunRetry, After: after(time.Minute)})
	refuses("while it is scheduled")
	f.clock.Advance(time.Minute)
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead})
	refuses("when it is dead")
	if _, err := f.Requeue(f.Context(), queue.Ref{ID: old.Job.ID}, queue.Requeue{Reviewed: true}); err != nil {
		f.Fatal(err)
	}
	refuses("when it was requeued")
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunQuarantine})
	refuses("when it is quarantined")
	if _, err := f.CloseJob(f.Context(), queue.Ref{ID: old.Job.ID}, queue.Finding{As: queue.StateDone}); err != nil {
		f.Fatal(err)
	}
	refuses("when it is done")
}

func (f *fixture) lengths() {
	lengths := []time.Duration{queue.MinLease, 2500 * time.Millisecond, 7 * time.Second, queue.MaxLease}
	runs := map[int64]time.Duration{}
	for _, length := range lengths {
		f.add("a", length.String())
		r := want("a", 1, rule)
		r.Lease = length
		c := f.claims(r)[0]
		runs[c.Job.ID] = length
	}
	passed := time.Duration(0)
	for _, length := range lengths {
		over := length + queue.Margin(length)
		f.clock.Advance(over - passed - 1)
		if got := f.expires(); len(got) != 0 {
			f.Errorf("expired early: %+v", got)
		}
		f.clock.Advance(1)
		passed = over
		if got := f.expires(); len(got) != 1 || runs[got[0].ID] != length {
			f.Errorf("after %v: %+v", over, got)
		}
	}
}
