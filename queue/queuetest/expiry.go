package queuetest

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

var expiryRules = rules{
	"a lease is expired when its margin is over, not before":     (*fixture).marginFirst,
	"an expiry says whose run of which job it ended":             (*fixture).expiryTells,
	"a claim expires what is over first, whatever its kind":      (*fixture).claimExpires,
	"those over longest are expired first":                       (*fixture).longestFirst,
	"any number of leases is expired":                            (*fixture).expiresAll,
	"an expired run is told in the history and in the job":       (*fixture).expiryInHistory,
	"a job whose lease is over still belongs to nobody else":     (*fixture).overButHeld,
	"a job that kills its workers runs out of attempts":          (*fixture).killer,
	"an expired job keeps its place by its priority":             (*fixture).expiredKeepsPriority,
	"whoever expires it decides by the rule stored with a lease": (*fixture).storedRule,
}

func (f *fixture) marginFirst() {
	f.add("a", "1")
	f.claim("a", rule)
	f.clock.Advance(leaseLength + margin - 1)
	if got := f.expires(); len(got) != 0 {
		f.Errorf("expired before its margin was over: %+v", got)
	}
	f.clock.Advance(1)
	if got := f.expires(); len(got) != 1 {
		f.Errorf("expired %+v", got)
	}
	// A short lease has the least margin.
	f.add("b", "1")
	r := want("b", 1, rule)
	r.Lease = queue.MinLease
	f.claims(r)
	f.clock.Advance(queue.MinLease + queue.Margin(queue.MinLease) - 1)
	if got := f.expires(); len(got) != 0 {
		f.Errorf("expired before the least margin was over: %+v", got)
	}
	f.clock.Advance(1)
	if got := f.expires(); len(got) != 1 {
		f.Errorf("expired %+v", got)
	}
}

func (f *fixture) expiryTells() {
	f.add("a", "1")
	r := want("a", 1, queue.Rule{})
	r.Worker = "gone"
	c := f.claims(r)[0]
	f.clock.Advance(leaseLength + margin)
	got := f.expires()
	want := queue.Expired{ID: c.Job.ID, Kind: "a", Key: "1", Fence: c.Lease.Fence, Worker: "gone", To: queue.StateQuarantined}
	if len(got) != 1 || got[0] != want {
		f.Errorf("expired %+v, want %+v", got, want)
	}
	if again := f.expires(); len(again) != 0 {
		f.Errorf("expired again: %+v", again)
	}
}

func (f *fixture) claimExpires() {
	f.add("a", "1")
	f.claim("a", rule)
	f.clock.Advance(leaseLength + margin)
	if c := f.claims(want("b", 1, rule)); len(c) != 0 {
		f.Errorf("claimed %+v", c)
	}
	f.isIn(f.everything()[0].ID, queue.StateReady)
	f.claim("a", rule)
	f.clock.Advance(leaseLength + margin)
	if c := f.claim("a", rule); c.Job.Attempt != 3 {
		f.Errorf("claimed %+v", c.Job)
	}
}

func (f *fixture) longestFirst() {
	for i, length := range []time.Duration{9, 3, 5} {
		f.add("a", numbered(i))
		r := want("a", 1, rule)
		r.Lease = length * time.Second
		f.claims(r)
	}
	f.clock.Advance(time.Minute)
	var keys string
	for _, e := range f.expires() {
		keys += e.Key[5:]
	}
	if keys != "120" {
		f.Errorf("expired in the order %s", keys)
	}
}

func (f *fixture) expiresAll() {
	const n = 700
	var jobs []queue.NewJob
	for i := range n {
		jobs = append(jobs, newJob("a", numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	f.claims(want("a", n, rule))
	f.clock.Advance(leaseLength + margin)
	if got := f.expires(); len(got) != n {
		f.Errorf("expired %d of %d", len(got), n)
	}
	f.claims(want("a", n, rule))
	f.clock.Advance(leaseLength + margin)
	if got := f.claims(want("a", 1, rule)); len(got) != 1 {
		f.Errorf("while all are over, a claim finds %d", len(got))
	}
	if m := f.metrics(); m.Leased+m.Ready != n {
		f.Errorf("%+v", m.Counts)
	}
	f.counted()
}

func (f *fixture) expiryInHistory() {
	f.add("a", "1")
	c := f.claim("a", queue.Rule{MaxAttempts: 2, Uncertain: queue.UncertainRetry})
	f.clock.Advance(leaseLength + margin)
	f.expires()
	job, story := f.get(c.Job.ID), f.story(c.Job.ID)
	last := story[len(story)-1]
	if last.Event != queue.EventExpire || last.From != queue.StateLeased || last.To != queue.StateReady ||
		last.Worker != "w1" || last.Fence != c.Lease.Fence || last.Attempt != 1 || last.Detail == "" {
		f.Errorf("history %+v", last)
	}
	if job.LastError == "" || job.State != queue.StateReady || !job.AvailableAt.Equal(f.clock.Now()) || job.Attempt != 1 {
		f.Errorf("job %+v", job)
	}
}

func (f *fixture) overButHeld() {
	f.add("a", "1")
	c := f.claim("a", rule)
	f.clock.Advance(leaseLength + margin - 1)
	if got := f.claims(want("a", 1, rule)); len(got) != 0 {
		f.Errorf("given away in its margin: %+v", got)
	}
	if got := f.get(c.Job.ID); got.State != queue.StateLeased || got.Worker != "w1" {
		f.Errorf("shown as %+v", got)
	}
}

func (f *fixture) killer() {
	f.add("a", "1")
	var job queue.Job
	runs := 0
	for range 10 {
		c := f.claims(want("a", 1, rule))
		if len(c) == 0 {
			break
		}
		runs++
		f.clock.Advance(leaseLength + margin)
		f.expires()
		job = f.get(c[0].Job.ID)
	}
	if runs != queue.DefaultMaxAttempts || job.State != queue.StateDead || job.Attempt != runs {
		f.Errorf("after %d runs: %+v", runs, job)
	}
}

func (f *fixture) expiredKeepsPriority() {
	low, high := newJob("a", "low"), newJob("a", "high")
	high.Priority = 9
	f.adds(high)
	f.claim("a", rule)
	f.adds(low)
	f.clock.Advance(leaseLength + margin)
	if c := f.claim("a", rule); c.Job.Key != "high" {
		f.Errorf("claimed %s", c.Job.Key)
	}
}

func (f *fixture) storedRule() {
	f.add("a", "1")
	f.claim("a", queue.Rule{MaxAttempts: 1, Uncertain: queue.UncertainJournal})
	f.reopen()
	f.clock.Advance(leaseLength + margin)
	// Another worker, with another rule.
	if got := f.claims(want("a", 1, queue.Rule{MaxAttempts: 9, Uncertain: queue.UncertainAsk})); len(got) != 0 {
		f.Errorf("claimed %+v", got)
	}
	f.isIn(f.everything()[0].ID, queue.StateDead)
}
