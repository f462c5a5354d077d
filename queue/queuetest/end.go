package queuetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var endRules = rules{
	"a closed queue answers every call that it is closed":        (*fixture).closedQueue,
	"closing twice is closing once":                              (*fixture).closedTwice,
	"what was acknowledged is there after a reopening":           (*fixture).acknowledged,
	"what is under way when a queue is closed is answered truly": (*fixture).closedMeanwhile,
}

// operations calls every method but Close, in order that they change something
// where they may: each on a job of its own.
func operations(f *fixture) map[string]func(ctx context.Context) error {
	f.Helper()
	for _, kind := range []string{"retry", "cancel", "claimed", "paused"} {
		f.add(kind, "1")
	}
	f.add("dead", "1")
	f.settles(f.claim("dead", rule), queue.Outcome{Is: queue.RunDead})
	f.add("dead", "2")
	f.settles(f.claim("dead", rule), queue.Outcome{Is: queue.RunDead})
	f.add("many", "1")
	f.settles(f.claim("many", rule), queue.Outcome{Is: queue.RunDead})
	f.add("done", "1")
	f.settles(f.claim("done", rule), queue.Outcome{Is: queue.RunDone})
	f.clock.Advance(time.Hour)
	f.add("rerun", "1")
	f.settles(f.claim("rerun", rule), queue.Outcome{Is: queue.RunDone})
	f.add("expire", "1")
	f.claim("expire", rule)
	f.clock.Advance(leaseLength)
	f.add("renew", "1")
	renewed := f.claim("renew", rule)
	settled := f.claim("retry", rule)
	f.clock.Advance(margin)
	return map[string]func(context.Context) error{
		"Enqueue": func(ctx context.Context) error { _, err := f.Enqueue(ctx, newJob("new", "1")); return err },
		"EnqueueMany": func(ctx context.Context) error {
			_, err := f.EnqueueMany(ctx, []queue.NewJob{newJob("new", "2")})
			return err
		},
		"Claim": func(ctx context.Context) error { _, err := f.Claim(ctx, want("claimed", 1, rule)); return err },
		"Renew": func(ctx context.Context) error {
			_, err := f.Renew(ctx, []queue.Renewal{{ID: renewed.Job.ID, Token: renewed.Lease.Token, Length: time.Hour}})
			return err
		},
		"Settle": func(ctx context.Context) error {
			_, err := f.Settle(ctx, queue.Settlement{ID: settled.Job.ID, Token: settled.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone}})
			return err
		},
		"Expire": func(ctx context.Context) error { _, err := f.Expire(ctx); return err },
		"Note":   func(ctx context.Context) error { return f.Note(ctx, settled.Job.ID, 0, "note") },
		"Cancel": func(ctx context.Context) error {
			_, err := f.Cancel(ctx, queue.Ref{Kind: "cancel", Key: "1"})
			return err
		},
		"CloseJob": func(ctx context.Context) error {
			_, err := f.CloseJob(ctx, queue.Ref{Kind: "dead", Key: "1"}, queue.Finding{As: queue.StateDone})
			return err
		},
		"Requeue": func(ctx context.Context) error {
			_, err := f.Requeue(ctx, queue.Ref{Kind: "dead", Key: "2"}, queue.Requeue{})
			return err
		},
		"RequeueMany": func(ctx context.Context) error {
			_, err := f.RequeueMany(ctx, queue.RequeueMany{Filter: queue.Filter{Kind: "many"}})
			return err
		},
		"Rerun": func(ctx context.Context) error {
			_, err := f.Rerun(ctx, queue.Ref{Kind: "rerun", Key: "1"}, queue.Rerun{Key: "2"})
			return err
		},
		"Pause": func(ctx context.Context) error { return f.Pause(ctx, "paused", true) },
		"Prune": func(ctx context.Context) error {
			_, err := f.Prune(ctx, queue.Pruning{Kind: "done", Keep: queue.Retention{Done: time.Hour}})
			return err
		},
		"Get":     func(ctx context.Context) error { _, err := f.Get(ctx, queue.Ref{ID: settled.Job.ID}); return err },
		"List":    func(ctx context.Context) error { _, err := f.List(ctx, queue.Filter{}); return err },
		"History": func(ctx context.Context) error { _, err := f.History(ctx, settled.Job.ID, 0); return err },
		"Metrics": func(ctx context.Context) error { _, err := f.Metrics(ctx); return err },
		"Agenda":  func(ctx context.Context) error { _, err := f.Agenda(ctx, []string{"new"}); return err },
		"Changes": func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			_, err := f.Changes(ctx)
			return err
		},
	}
}

func (f *fixture) closedQueue() {
	all := operations(f)
	before := f.picture()
	if err := f.Close(); err != nil {
		f.Fatal(err)
	}
	for name, call := range all {
		if err := call(f.Context()); err == nil {
			f.Errorf("%s: taken", name)
		} else {
			f.refused(err, queue.ErrClosed)
		}
	}
	f.Queue = f.open()
	f.unchanged(before, "a closed queue")
}

func (f *fixture) closedTwice() {
	f.add("a", "1")
	for range 3 {
		if err := f.Close(); err != nil {
			f.Error(err)
		}
	}
	f.Queue = f.open()
	f.claim("a", rule)
}

func (f *fixture) acknowledged() {
	for name, call := range operations(f) {
		if err := call(f.Context()); err != nil {
			f.Errorf("%s: %v", name, err)
		}
		before := f.picture()
		f.reopen()
		f.unchanged(before, "a reopening after "+name)
	}
	f.counted()
}

func (f *fixture) closedMeanwhile() {
	const n = 40
	errs := make([]error, n)
	var wg sync.WaitGroup
	begun := make(chan struct{}, n)
	for i := range n {
		wg.Go(func() {
			begun <- struct{}{}
			_, errs[i] = f.Enqueue(f.Context(), newJob("a", numbered(i)))
		})
	}
	<-begun
	if err := f.Close(); err != nil {
		f.Error(err)
	}
	wg.Wait()
	f.Queue = f.open()
	there := map[string]bool{}
	for _, job := range f.everything() {
		there[job.Key] = true
	}
	for i, err := range errs {
		switch {
		case err == nil && !there[numbered(i)]:
			f.Errorf("job %d was acknowledged and is gone", i)
		case err != nil && !errors.Is(err, queue.ErrClosed):
			f.Errorf("job %d: %v", i, err)
		case err != nil && there[numbered(i)]:
			f.Errorf("job %d was refused (%v) and is there", i, err)
		}
	}
}
