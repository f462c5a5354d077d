package queuetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var claimRules = rules{
	"the best job comes first: priority, due time, id":      (*fixture).claimOrder,
	"wants are served in their order":                       (*fixture).wantsInOrder,
	"with a number in all the best of all wants are taken":  (*fixture).claimMost,
	"a claimed job carries all that its worker needs":       (*fixture).claimedJob,
	"every claim has another token and the next fence":      (*fixture).tokensAndFences,
	"a job is never given to two":                           (*fixture).neverToTwo,
	"a claim never answers nothing while something is due":  (*fixture).neverNothing,
	"a claim of many takes the oldest":                      (*fixture).manyTakesOldest,
	"a claim of any kind takes from all that are not empty": (*fixture).anyKind,
	"a claim of a kind that has no job finds nothing":       (*fixture).nobodysKind,
}

func (f *fixture) claimOrder() {
	add := func(kind, key string, priority int, ago time.Duration) {
		n := newJob(kind, key)
		n.Priority, n.AvailableAt = priority, f.ago(ago)
		f.adds(n)
	}
	add("a", "late", 0, 0)
	add("a", "early", 0, time.Minute)
	add("a", "early-too", 0, time.Minute)
	add("a", "high", 10, 0)
	add("a", "low", -10, time.Hour)
	add("a", "to-come", 100, -time.Hour)
	add("b", "other", 5, 0)
	if got := keysOf(f.claims(want("a", 2, rule))); got != "high early" {
		f.Errorf("two of a: %s", got)
	}
	if got := keysOf(f.claims(want("", 3, rule))); got != "other early-too late" {
		f.Errorf("three of any kind: %s", got)
	}
	if got := keysOf(f.claims(want("a", 9, rule))); got != "low" {
		f.Errorf("what is left: %s", got)
	}
	f.clock.Advance(time.Hour)
	// The leases of before are over: their jobs come back at once, due now.
	if got := keysOf(f.claims(want("a", 1, rule))); got != "to-come" {
		f.Errorf("an hour later: %s", got)
	}
}

func (f *fixture) wantsInOrder() {
	for _, key := range []string{"1", "2", "3"} {
		f.add("a", key)
		f.add("b", key)
	}
	r := want("b", 2, rule)
	r.Wants = append(r.Wants, queue.Want{Kind: "nobody", Max: 5}, queue.Want{Kind: "a", Max: 1}, queue.Want{Kind: "b", Max: 5}, queue.Want{Max: 9})
	var got []string
	for _, c := range f.claims(r) {
		got = append(got, c.Job.Kind+c.Job.Key)
	}
	if all := strings.Join(got, " "); all != "b1 b2 a1 b3 a2 a3" {
		f.Errorf("claimed %s", all)
	}
}

func (f *fixture) claimMost() {
	add := func(kind, key string, priority int) {
		n := newJob(kind, key)
		n.Priority = priority
		f.adds(n)
	}
	add("a", "third", 0)
	add("b", "first", 9)
	add("b", "fourth", 0)
	add("c", "second", 5)
	add("c", "fifth", 4)
	r := want("a", 2, rule)
	r.Wants = append(r.Wants, queue.Want{Kind: "b", Max: 2}, queue.Want{Kind: "b", Max: 1}, queue.Want{Kind: "c", Max: 1})
	for _, step := range []struct {
		most int
		want string
	}{
		{1, "first"},
		{2, "second third"}, // c is wanted once
		{9, "fifth fourth"},
		{9, ""},
	} {
		r.Most = step.most
		if got := keysOf(f.claims(r)); got != step.want {
			f.Errorf("%d of all: %q, want %q", step.most, got, step.want)
		}
	}
	// Each job is decided by the rule of the want that took it.
	one, two := newJob("d", "1"), newJob("e", "1")
	f.adds(one)
	f.adds(two)
	r = want("d", 1, queue.Rule{MaxAttempts: 2, Uncertain: queue.UncertainAsk})
	r.Wants = append(r.Wants, queue.Want{Kind: "e", Max: 1, Rule: queue.Rule{MaxAttempts: 3, Uncertain: queue.UncertainRetry}})
	r.Most = 2
	for _, c := range f.claims(r) {
		if want := map[string]int{"d": 2, "e": 3}[c.Job.Kind]; c.Job.MaxAttempts != want {
			f.Errorf("%s has a limit of %d", c.Job.Kind, c.Job.MaxAttempts)
		}
	}
}

func (f *fixture) claimedJob() {
	id := f.add("a", "1").ID
	f.clock.Advance(time.Minute)
	r := want("a", 1, queue.Rule{MaxAttempts: 4, Uncertain: queue.UncertainAsk})
	r.Worker, r.Wants[0].HandlerDigest = "worker é", strings.Repeat("0a", 32)
	c := f.claims(r)[0]
	if c.Lease.Length != leaseLength || c.Lease.Deadline != f.clock.Mono()+leaseLength || c.Lease.Token == (queue.Token{}) || c.Lease.Fence != c.Job.Fence {
		f.Errorf("lease %+v of %+v", c.Lease, c.Job)
	}
	job := c.Job
	if job.ID != id || job.State != queue.StateLeased || job.Attempt != 1 || job.MaxAttempts != 4 || job.NamedAttempts != 0 ||
		string(job.Payload) != `{"n":1}` || job.Worker != "worker é" || !job.UpdatedAt.Equal(f.clock.Now()) ||
		!job.LeaseExpiresAt.Equal(f.clock.Now().Add(leaseLength)) || !job.AvailableAt.Equal(start) || job.CancelRequested {
		f.Errorf("job %+v", job)
	}
	if got := fmt.Sprintf("%+v", f.get(id)); got != fmt.Sprintf("%+v", job) {
		f.Errorf("stored as\n%s, answered\n%+v", got, job)
	}
	story := f.story(id)
	last := story[len(story)-1]
	if last.Event != queue.EventClaim || last.Attempt != 1 || last.Fence != job.Fence || last.Worker != "worker é" || !strings.Contains(last.Detail, strings.Repeat("0a", 32)) {
		f.Errorf("history %+v", last)
	}
}

func (f *fixture) tokensAndFences() {
	f.add("a", "1")
	tokens := map[queue.Token]bool{}
	fence := f.get(f.everything()[0].ID).Fence
	for i := range 10 {
		c := f.claim("a", rule)
		if tokens[c.Lease.Token] {
			f.Error("a token was used twice")
		}
		tokens[c.Lease.Token] = true
		if fence++; c.Lease.Fence != fence {
			f.Errorf("fence %d in run %d, want %d", c.Lease.Fence, i, fence)
		}
		switch i % 4 {
		case 0:
			f.settles(c, queue.Outcome{Is: queue.RunSnooze})
		case 1:
			f.settles(c, queue.Outcome{Is: queue.RunDead})
			if _, err := f.Requeue(f.Context(), queue.Ref{ID: c.Job.ID}, queue.Requeue{}); err != nil {
				f.Fatal(err)
			}
		case 2:
			f.clock.Advance(leaseLength + margin)
			f.expires()
		case 3:
			f.settles(c, queue.Outcome{Is: queue.RunSnooze})
			f.reopen()
		}
	}
}

func (f *fixture) neverToTwo() {
	f.add("a", "1")
	other := f.beside()
	f.claim("a", rule)
	for _, q := range []*fixture{f, other} {
		if got := q.claims(want("", 9, rule)); len(got) != 0 {
			f.Errorf("given to a second one: %+v", got)
		}
	}
	f.reopen()
	if got := f.claims(want("", 9, rule)); len(got) != 0 {
		f.Errorf("given to a second one after a reopening: %+v", got)
	}
}

func (f *fixture) neverNothing() {
	const n = 1500
	var jobs []queue.NewJob
	for i := range n {
		j := newJob("a", numbered(i))
		j.AvailableAt = start.Add(time.Duration(1+i%7) * time.Second)
		jobs = append(jobs, j)
	}
	for _, part := range [][]queue.NewJob{jobs[:queue.MaxBatch], jobs[queue.MaxBatch:]} {
		if _, err := f.EnqueueMany(f.Context(), part); err != nil {
			f.Fatal(err)
		}
	}
	f.clock.Advance(time.Minute)
	first := f.claims(want("a", 1, rule))
	if len(first) != 1 || !first[0].Job.AvailableAt.Equal(start.Add(time.Second)) || first[0].Job.Key != numbered(0) {
		f.Fatalf("the oldest due is not first: %+v", first)
	}
	total := 1
	for {
		c := f.claims(want("a", 400, rule))
		if len(c) == 0 {
			break
		}
		total += len(c)
	}
	if total != n {
		f.Errorf("claimed %d of %d before it answered nothing", total, n)
	}
}

func (f *fixture) manyTakesOldest() {
	var jobs []queue.NewJob
	for i := range 600 {
		n := newJob("a", numbered(i))
		n.AvailableAt = start.Add(time.Second + time.Duration(i)*time.Millisecond)
		jobs = append(jobs, n)
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	f.clock.Advance(time.Minute)
	for i := range 50 {
		f.add("a", fmt.Sprint("young-", i))
	}
	c := f.claims(want("a", 600, rule))
	if len(c) != 600 {
		f.Fatalf("claimed %d", len(c))
	}
	for i := range c {
		if c[i].Job.Key != numbered(i) {
			f.Fatalf("claimed %s at place %d", c[i].Job.Key, i)
		}
	}
}

func (f *fixture) anyKind() {
	for i := range 40 {
		n := newJob(fmt.Sprint("k", i), "1")
		n.AvailableAt = start.Add(time.Duration(40-i) * time.Second)
		f.adds(n)
	}
	f.clock.Advance(time.Minute)
	c := f.claims(want("", 100, rule))
	if len(c) != 40 || c[0].Job.Kind != "k39" || c[39].Job.Kind != "k0" {
		f.Errorf("claimed %d, the first of kind %s", len(c), c[0].Job.Kind)
	}
}

func (f *fixture) nobodysKind() {
	f.add("a", "1")
	before := f.picture()
	if got := f.claims(want("b", 9, rule)); len(got) != 0 {
		f.Errorf("claimed %+v", got)
	}
	f.unchanged(before, "a claim of nothing")
}
