package queuetest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/b1213022/bailiff/queue"
)

var contextRules = rules{
	"a caller who has left changes nothing":                 (*fixture).leftBefore,
	"a caller who leaves meanwhile can ask for the truth":   (*fixture).leavesMeanwhile,
	"a claim whose caller left loses no job":                (*fixture).leavesClaim,
	"a settlement whose caller left can be asked for again": (*fixture).leavesSettlement,
	"one who leaves takes nobody with him":                  (*fixture).leavesAmongOthers,
}

func (f *fixture) leftBefore() {
	all := operations(f)
	ctx := ended(f.Context())
	for _, name := range slices.Sorted(maps.Keys(all)) {
		before := f.picture()
		err := all[name](ctx)
		switch {
		case err == nil && name == "Changes": // a watch that has ended
		case err == nil:
			f.Errorf("%s: answered a caller who had left", name)
		case errors.Is(err, queue.ErrUnknown): // then it may have been done
			f.Errorf("%s: begun for a caller who had left: %v", name, err)
		case !errors.Is(err, context.Canceled):
			f.Errorf("%s: %v does not say that the caller had left", name, err)
		}
		f.unchanged(before, name+" of a caller who had left")
	}
}

// leaving is a context that ends at about the time of a call: with each i at another
// moment of it. leave is called when the call has returned.
func (f *fixture) leaving(i int) (ctx context.Context, leave func()) {
	ctx, cancel := context.WithCancel(f.Context())
	if i%3 == 0 {
		return ctx, cancel
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for range i % 7 {
			_, _ = f.Metrics(ctx) // takes about as long as it takes to begin a write
		}
		cancel()
	}()
	return ctx, func() { <-gone }
}

func (f *fixture) leavesMeanwhile() {
	const n = 120
	errs := make([]error, n)
	f.atOnce(n, func(i int) {
		ctx, leave := f.leaving(i)
		defer leave()
		_, errs[i] = f.Enqueue(ctx, newJob("a", numbered(i)))
	})
	there := map[string]bool{}
	for _, job := range f.everything() {
		there[job.Key] = true
	}
	for i, err := range errs {
		e, again := f.Enqueue(f.Context(), newJob("a", numbered(i)))
		if again != nil {
			f.Errorf("job %d: asked again: %v", i, again)
		}
		switch {
		case err == nil && (!there[numbered(i)] || e.Created):
			f.Errorf("job %d was acknowledged and is gone", i)
		case err != nil && !errors.Is(err, queue.ErrUnknown) && !e.Created:
			f.Errorf("job %d was refused (%v) and is there", i, err)
		}
	}
	if m := f.metrics(); m.Ready != n {
		f.Errorf("%+v", m.Counts)
	}
	f.counted()
}

func (f *fixture) leavesClaim() {
	const n = 60
	var jobs []queue.NewJob
	for i := range n {
		jobs = append(jobs, newJob("a", numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	got := make([][]queue.Claimed, n)
	f.atOnce(n, func(i int) {
		ctx, leave := f.leaving(i)
		defer leave()
		got[i], _ = f.Claim(ctx, want("a", 1, queue.Rule{Uncertain: queue.UncertainJournal}))
	})
	given := map[int64]bool{}
	for _, c := range got {
		for _, one := range c {
			if given[one.Job.ID] {
				f.Errorf("job %d was given to two", one.Job.ID)
			}
			given[one.Job.ID] = true
			f.settles(one, queue.Outcome{Is: queue.RunDone})
		}
	}
	// What was claimed for those who left comes back, with its lease at the latest.
	f.clock.Advance(leaseLength + margin)
	for range n {
		f.expires()
		for _, c := range f.claims(want("a", n, rule)) {
			f.settles(c, queue.Outcome{Is: queue.RunDone})
		}
	}
	if m := f.metrics(); m.Done != n {
		f.Errorf("%+v", m.Counts)
	}
	f.counted()
}

func (f *fixture) leavesSettlement() {
	const n = 60
	var jobs []queue.NewJob
	for i := range n {
		jobs = append(jobs, newJob("a", numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	runs := f.claims(want("a", n, rule))
	errs := make([]error, n)
	settlement := func(i int) queue.Settlement {
		return queue.Settlement{ID: runs[i].Job.ID, Token: runs[i].Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone}}
	}
	f.atOnce(n, func(i int) {
		ctx, leave := f.leaving(i)
		defer leave()
		_, errs[i] = f.Settle(ctx, settlement(i))
	})
	for i, err := range errs {
		s, again := f.Settle(f.Context(), settlement(i))
		switch {
		case again != nil || s.State != queue.StateDone:
			f.Errorf("run %d: %v, asked again: %+v, %v", i, err, s, again)
		case err == nil && !s.Replay:
			f.Errorf("run %d was acknowledged and was not there", i)
		case err != nil && !errors.Is(err, queue.ErrUnknown) && s.Replay:
			f.Errorf("run %d was refused (%v) and was there", i, err)
		}
	}
	if m := f.metrics(); m.Done != n {
		f.Errorf("%+v", m.Counts)
	}
}

func (f *fixture) leavesAmongOthers() {
	const n = 90
	errs := make([]error, n)
	f.atOnce(n, func(i int) {
		ctx := f.Context()
		if i%2 == 1 {
			c, leave := f.leaving(i)
			defer leave()
			ctx = c
		}
		_, errs[i] = f.Enqueue(ctx, newJob("a", numbered(i)))
	})
	for i := 0; i < n; i += 2 {
		if errs[i] != nil {
			f.Errorf("job %d, whose caller stayed: %v", i, errs[i])
		}
	}
	f.reopen()
	f.counted()
}
