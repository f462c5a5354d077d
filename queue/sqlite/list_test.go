package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// variety fills a database with jobs of several kinds in all states, of several
// ages, and some of them stuck.
func (f *fixture) variety(r *rand.Rand) {
	f.Helper()
	ctx := f.Context()
	for i := range 400 {
		f.clock.Advance(time.Duration(r.IntN(60)) * time.Second)
		kind := string("abc"[r.IntN(3)])
		n := newJob(kind, fmt.Sprintf("%s-%d", []string{"x", "xy", "é", "z"}[r.IntN(4)], i))
		n.Priority = r.IntN(3)
		if r.IntN(3) == 0 {
			n.AvailableAt = f.clock.Now().Add(time.Duration(r.IntN(240)) * time.Minute)
		}
		job := f.add(n)
		after := time.Duration(r.IntN(120)) * time.Minute
		outcomes := []queue.Outcome{
			{Is: queue.RunDone}, {Is: queue.RunDead}, {Is: queue.RunUncertain}, {Is: queue.RunRetry, After: &after},
		}
		switch r.IntN(4) {
		case 0:
			if _, err := f.Cancel(ctx, queue.Ref{ID: job.ID}); err != nil {
				f.Fatal(err)
			}
		case 1, 2:
			claim := want(kind, 1, queue.Rule{})
			claim.Lease = time.Duration(1+r.IntN(200)) * time.Minute
			for _, c := range f.claims(claim) {
				if o := r.IntN(5); o < len(outcomes) {
					f.settles(c, outcomes[o])
				}
			}
		}
		if i == 200 {
			f.clock.StepWall(-90 * time.Minute) // from here on some are due by one clock alone
		}
	}
	if err := f.Pause(ctx, "c", true); err != nil {
		f.Fatal(err)
	}
	f.clock.Advance(45 * time.Minute) // and some by both
}

// selects says of a job as Get answers it whether a filter selects it. since is when
// a leased job was claimed.
func selects(g queue.Filter, j *queue.Job, now, since time.Time, paused bool) bool {
	if g.Kind != "" && j.Kind != g.Kind || !strings.HasPrefix(j.Key, g.KeyPrefix) ||
		len(g.States) > 0 && !slices.Contains(g.States, j.State) || j.ID <= g.After {
		return false
	}
	if !g.Stuck {
		return g.OlderThan == 0 || now.Sub(j.UpdatedAt) >= g.OlderThan
	}
	age := queue.StuckAfter
	if g.OlderThan > 0 {
		age = g.OlderThan
	}
	switch j.State {
	case queue.StateReady:
		return !paused && now.Sub(j.AvailableAt) >= age
	case queue.StateLeased:
		return now.Sub(since) >= age || !now.Before(j.LeaseExpiresAt)
	}
	return false
}

func TestListSelectsWhatFits(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	f := newFixture(t)
	f.variety(r)
	var all []queue.Job
	claimed := map[int64]time.Time{}
	for id := int64(1); id <= 400; id++ {
		all = append(all, f.get(id))
		history, err := f.History(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range history {
			if e.Event == queue.EventClaim {
				claimed[id] = e.LastAt
			}
		}
	}
	found := map[string]int{}
	for range 600 {
		g := queue.Filter{
			Kind:      []string{"", "", "a", "b", "c", "d"}[r.IntN(6)],
			KeyPrefix: []string{"", "", "x", "xy-", "é", "z-1", "no"}[r.IntN(7)],
			OlderThan: []time.Duration{0, 0, time.Minute, time.Hour, 3 * time.Hour}[r.IntN(5)],
			Stuck:     r.IntN(4) == 0,
			Limit:     []int{0, 1, 7, 40, 1000}[r.IntN(5)],
			After:     []int64{0, 0, 50, 300}[r.IntN(4)],
		}
		for _, s := range queue.States() {
			if r.IntN(4) == 0 {
				g.States = append(g.States, s)
			}
		}
		var want []int64
		for i := range all {
			if selects(g, &all[i], f.clock.Now(), claimed[all[i].ID], all[i].Kind == "c") {
				want = append(want, all[i].ID)
			}
		}
		limit := queue.DefaultPage
		if g.Limit > 0 {
			limit = g.Limit
		}
		want = want[:min(len(want), limit)]
		jobs, err := f.List(t.Context(), g)
		var got []int64
		for _, j := range jobs {
			got = append(got, j.ID)
			if k := all[j.ID-1]; j.State != k.State || !j.AvailableAt.Equal(k.AvailableAt) || j.Worker != k.Worker {
				t.Errorf("seed %d: listed %+v, is %+v", seed, j, k)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("seed %d: %+v: %v, %v, want %v", seed, g, got, err, want)
		}
		if g.Stuck {
			found["stuck"] += len(got)
		}
		found[g.KeyPrefix] += len(got)
	}
	for _, what := range []string{"", "stuck", "x", "xy-", "é", "z-1"} {
		if found[what] == 0 {
			t.Errorf("seed %d: nothing was found by %q", seed, what)
		}
	}
}

// Whether a prefix selects many or few, of many or few: what it finds is the same.
func TestListByPrefixEitherWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const half = 12_000
	for _, prefix := range []string{"a", "b"} {
		for from := 0; from < half; from += queue.MaxBatch {
			var jobs []queue.NewJob
			for i := range queue.MaxBatch {
				jobs = append(jobs, newJob("k", fmt.Sprintf("%s%05d", prefix, from+i)))
			}
			if _, err := f.EnqueueMany(t.Context(), jobs); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := f.Cancel(t.Context(), queue.Ref{Kind: "k", Key: "b11000"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter queue.Filter
		want   []int64
	}{
		{queue.Filter{KeyPrefix: "a", Limit: 2}, []int64{1, 2}},
		{queue.Filter{KeyPrefix: "b", Limit: 2}, []int64{half + 1, half + 2}},
		{queue.Filter{KeyPrefix: "b", Limit: 2, After: half + 1}, []int64{half + 2, half + 3}},
		{queue.Filter{KeyPrefix: "a", Limit: 2, After: 9_999, States: []queue.State{queue.StateReady}}, []int64{10_000, 10_001}},
		{queue.Filter{KeyPrefix: "b", Limit: 2, After: 2*half - 1}, []int64{2 * half}},
		{queue.Filter{KeyPrefix: "b", States: []queue.State{queue.StateCancelled}}, []int64{half + 11_001}},
		{queue.Filter{KeyPrefix: "b1123", States: []queue.State{queue.StateReady}, Limit: 1}, []int64{half + 11_231}},
	} {
		jobs, err := f.List(t.Context(), c.filter)
		var got []int64
		for _, j := range jobs {
			got = append(got, j.ID)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v, want %v", c.filter, got, err, c.want)
		}
	}
}

// Where many jobs are due, those that are not are found all the same, and the other
// way round.
func TestListAmongManyThatAreDue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fellDue("a", 1500)
	later := newJob("a", "later")
	later.AvailableAt = f.clock.Now().Add(time.Minute)
	job := f.add(later)
	jobs, err := f.List(t.Context(), queue.Filter{States: []queue.State{queue.StateScheduled}})
	if err != nil || len(jobs) != 1 || jobs[0].ID != job.ID {
		t.Errorf("not due: %d jobs, %v", len(jobs), err)
	}
	// Due by the monotonic clock alone.
	f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunRetry, After: new(time.Duration)})
	delay := 2 * time.Minute
	c := f.claimOne("a", queue.Rule{})
	f.settles(c, queue.Outcome{Is: queue.RunRetry, After: &delay})
	f.clock.Advance(30 * time.Second)
	f.clock.StepWall(-time.Minute)
	f.clock.Advance(90 * time.Second)
	jobs, err = f.List(t.Context(), queue.Filter{States: []queue.State{queue.StateScheduled}})
	if err != nil || len(jobs) != 0 {
		t.Errorf("when all are due: %d jobs, %v", len(jobs), err)
	}
	jobs, err = f.List(t.Context(), queue.Filter{States: []queue.State{queue.StateReady}, After: job.ID - 1})
	if err != nil || len(jobs) != 1 || jobs[0].ID != job.ID {
		t.Errorf("ready: %d jobs, %v", len(jobs), err)
	}
}
