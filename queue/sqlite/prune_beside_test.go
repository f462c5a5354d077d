package sqlite_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// What pruning takes away is no other's.
func TestPruneBesideOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.open(f.Path())
	const old = 5000
	for n := 0; n < old; {
		jobs := make([]queue.NewJob, 500)
		for i := range jobs {
			n++
			jobs[i] = newJob("old", fmt.Sprint(n))
		}
		if _, err := f.EnqueueMany(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, c := range f.claims(want("old", len(jobs), queue.Rule{})) {
			wg.Go(func() {
				if _, err := f.Settle(f.Context(), queue.Settlement{
					ID: c.Job.ID, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone},
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	f.clock.Advance(time.Hour)
	over := make(chan struct{})
	var wg sync.WaitGroup
	var added, finished int64
	wg.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			if _, err := other.Enqueue(f.Context(), newJob("new", fmt.Sprint(added))); err != nil {
				t.Errorf("enqueue: %v", err)
				return
			}
			added++
			claimed, err := other.Claim(f.Context(), want("new", 1, queue.Rule{}))
			if err != nil || len(claimed) != 1 {
				t.Errorf("claimed %d: %v", len(claimed), err)
				return
			}
			if _, err := other.Settle(f.Context(), queue.Settlement{
				ID: claimed[0].Job.ID, Token: claimed[0].Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone},
			}); err != nil {
				t.Errorf("settle: %v", err)
				return
			}
			finished++
		}
	})
	var pruned int64
	for {
		answer, err := f.Prune(t.Context(), queue.Pruning{Keep: anHour})
		if err != nil {
			t.Errorf("prune: %v", err)
			break
		}
		if pruned += answer.Jobs; !answer.More {
			break
		}
	}
	close(over)
	wg.Wait()
	m, err := f.Metrics(t.Context())
	if err != nil || pruned != old || m.Done != finished || m.Kinds["old"].Done != 0 || m.Kinds["new"].Done != added {
		t.Errorf("pruned %d, %d of %d finished meanwhile: %+v, %v", pruned, finished, added, m, err)
	}
	if added == 0 {
		t.Error("nothing was enqueued meanwhile")
	}
	if got := f.rows()["remembered"]; got != old {
		t.Errorf("%d are remembered, want %d", got, old)
	}
}

// Whoever comes in the midst of a prune's commit waits for that one alone: it is answered
// before the next prune, while there is more to prune.
func TestPruneLetsOthersInBetween(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.open(f.Path())
	for i := range 4 {
		f.doneJob(newJob("old", fmt.Sprint(i)))
	}
	f.clock.Advance(time.Hour)
	commits := 0
	answers := map[string]chan error{}
	f.OnCommit(func(n int, commit func() error, _ func(string) error) error {
		commits++
		if n > 1 {
			return commit()
		}
		for name, q := range map[string]*sqlite.Queue{"here": f.Queue, "elsewhere": other} {
			answer := make(chan error, 1)
			answers[name] = answer
			go func() {
				_, err := q.Enqueue(f.Context(), newJob("new", name))
				answer <- err
			}()
			until(func() bool { return q.Waiting() == 1 })
			select {
			case err := <-answer:
				t.Errorf("answered %s before the prune's commit: %v", name, err)
			default:
			}
		}
		return commit()
	})
	p := queue.Pruning{Keep: anHour, Limit: 2}
	if got := f.prunes(p); got != (queue.Pruned{Jobs: 2, More: true}) {
		t.Fatalf("the first prune: %+v", got)
	}
	for name, answer := range answers {
		if err := <-answer; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if commits != 2 { // the prune's, and that of the enqueue here
		t.Errorf("%d commits of the one who prunes", commits)
	}
	if got := f.prunes(p); got != (queue.Pruned{Jobs: 2}) {
		t.Errorf("the second prune: %+v", got)
	}
}
