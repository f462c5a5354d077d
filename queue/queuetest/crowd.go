package queuetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
)

var crowdRules = rules{
	"many enqueuers of one key make one job":           (*fixture).oneOfMany,
	"many workers do every job once":                   (*fixture).everyJobOnce,
	"many workers on two handles do every job once":    (*fixture).everyJobOnceOnTwo,
	"many who settle one run settle it once":           (*fixture).settledOnce,
	"many who expire the same leases expire each once": (*fixture).expiredOnce,
	"many who requeue the same job requeue it once":    (*fixture).requeuedOnce,
	"counts fit the jobs while many work":              (*fixture).countsWhileManyWork,
	"what one handle has done the other one sees":      (*fixture).seenByTheOther,
}

func (f *fixture) oneOfMany() {
	other := f.beside()
	const n = 40
	created := make([]bool, n)
	ids := make([]int64, n)
	f.atOnce(n, func(i int) {
		q := f
		if i%2 == 1 {
			q = other
		}
		e, err := q.Enqueue(f.Context(), newJob("a", "1"))
		if err != nil {
			f.Error(err)
		}
		created[i], ids[i] = e.Created, e.Job.ID
	})
	count := 0
	for i := range n {
		if created[i] {
			count++
		}
		if ids[i] != ids[0] {
			f.Errorf("answered job %d and job %d", ids[i], ids[0])
		}
	}
	if count != 1 || len(f.everything()) != 1 {
		f.Errorf("created %d times, %d jobs", count, len(f.everything()))
	}
}

func (f *fixture) everyJobOnce()      { f.worksOn(f, f) }
func (f *fixture) everyJobOnceOnTwo() { f.worksOn(f, f.beside()) }

// worksOn lets a crowd enqueue and work, on two handles.
func (f *fixture) worksOn(handles ...*fixture) {
	const n, workers = 200, 8
	var mu sync.Mutex
	runs := map[string][]int64{} // fences by key
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := w; i < n; i += 4 {
				if _, err := handles[w%2].Enqueue(f.Context(), newJob("a", numbered(i))); err != nil {
					f.Error(err)
				}
			}
		})
	}
	left := make(chan struct{}, n)
	for range n {
		left <- struct{}{}
	}
	for w := range workers {
		wg.Go(func() {
			q := handles[w%2]
			for len(left) > 0 {
				r := want("a", 3, rule)
				r.Worker = fmt.Sprint("w", w)
				claimed, err := q.Claim(f.Context(), r)
				if err != nil {
					f.Error(err)
					return
				}
				for _, c := range claimed {
					mu.Lock()
					runs[c.Job.Key] = append(runs[c.Job.Key], c.Lease.Fence)
					first := len(runs[c.Job.Key]) == 1
					mu.Unlock()
					o := queue.Outcome{Is: queue.RunDone}
					if i, _ := strconv.Atoi(c.Job.Key); i%5 == 0 && first {
						o = queue.Outcome{Is: queue.RunRetry, After: after(0)}
					}
					if _, err := q.settle(c, o); err != nil {
						f.Error(err)
					}
					if o.Is == queue.RunDone {
						<-left
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range n {
		want := 1
		if i%5 == 0 {
			want = 2
		}
		fences := runs[numbered(i)]
		if len(fences) != want || want == 2 && fences[1] != fences[0]+1 {
			f.Errorf("job %d had the runs %v", i, fences)
		}
	}
	if m := f.metrics(); m.Done != n {
		f.Errorf("%+v", m.Counts)
	}
	f.counted()
}

func (f *fixture) settledOnce() {
	f.add("a", "1")
	c := f.claim("a", rule)
	ends := []queue.RunEnd{queue.RunDone, queue.RunRetry, queue.RunDead, queue.RunSnooze, queue.RunQuarantine}
	var mu sync.Mutex
	took := map[queue.RunEnd]int{}
	f.atOnce(30, func(i int) {
		is := ends[i%len(ends)]
		s, err := f.settle(c, queue.Outcome{Is: is})
		if err != nil && !errors.Is(err, queue.ErrLeaseLost) {
			f.Error(err)
		}
		if err == nil && !s.Replay {
			mu.Lock()
			took[is]++
			mu.Unlock()
		}
	})
	if len(took) != 1 {
		f.Errorf("settled as %v", took)
	}
	for is, n := range took {
		if n != 1 || f.story(c.Job.ID)[2].Event != queue.Event(is) || len(f.story(c.Job.ID)) != 3 {
			f.Errorf("%s %d times: %+v", is, n, f.story(c.Job.ID))
		}
	}
}

func (f *fixture) expiredOnce() {
	const n = 60
	var jobs []queue.NewJob
	for i := range n {
		jobs = append(jobs, newJob("a", numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	f.claims(want("a", n, rule))
	f.clock.Advance(leaseLength + margin)
	other := f.beside()
	var mu sync.Mutex
	times := map[int64]int{}
	f.atOnce(12, func(i int) {
		q := f
		if i%2 == 1 {
			q = other
		}
		expired, err := q.Expire(f.Context())
		if err != nil {
			f.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, e := range expired {
			times[e.ID]++
		}
	})
	for id, n := range times {
		if n != 1 {
			f.Errorf("job %d was expired %d times", id, n)
		}
		if got := events(f.story(id)); got != "enqueue claim expire" {
			f.Errorf("job %d: %s", id, got)
		}
	}
	if len(times) != n {
		f.Errorf("expired %d of %d", len(times), n)
	}
}

func (f *fixture) requeuedOnce() {
	f.deadJobs(1)
	id := f.everything()[0].ID
	var mu sync.Mutex
	took := 0
	f.atOnce(20, func(i int) {
		_, err := f.Requeue(f.Context(), queue.Ref{ID: id}, queue.Requeue{})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			took++
		} else if !errors.Is(err, queue.ErrConflict) {
			f.Error(err)
		}
	})
	if took != 1 {
		f.Errorf("requeued %d times", took)
	}
}

func (f *fixture) countsWhileManyWork() {
	const n = 80
	var jobs []queue.NewJob
	for i := range n {
		jobs = append(jobs, newJob(fmt.Sprint("k", i%2), numbered(i)))
	}
	if _, err := f.EnqueueMany(f.Context(), jobs); err != nil {
		f.Fatal(err)
	}
	f.atOnce(n, func(i int) {
		claimed, err := f.Claim(f.Context(), want("", 1, rule))
		if err != nil || len(claimed) != 1 {
			f.Errorf("claimed %d, %v", len(claimed), err)
			return
		}
		m, err := f.Metrics(f.Context())
		if err != nil {
			f.Error(err)
		}
		c := m.Counts
		if all := c.Scheduled + c.Ready + c.Leased + c.Done + c.Dead + c.Quarantined + c.Cancelled; all != n {
			f.Errorf("%d jobs are counted as %d: %+v", n, all, c)
		}
		is := []queue.RunEnd{queue.RunDone, queue.RunDead, queue.RunQuarantine}[i%3]
		if _, err := f.settle(claimed[0], queue.Outcome{Is: is}); err != nil {
			f.Error(err)
		}
	})
	f.counted()
}

func (f *fixture) seenByTheOther() {
	other := f.beside()
	f.add("a", "1")
	c := other.claim("a", rule)
	if r := f.renew(c, 2*leaseLength); r.Err != nil {
		f.Errorf("renewed by the other: %+v", r)
	}
	f.settles(c, queue.Outcome{Is: queue.RunDead})
	if got := other.get(c.Job.ID); got.State != queue.StateDead {
		f.Errorf("%+v", got)
	}
	if err := other.Pause(f.Context(), "a", true); err != nil {
		f.Fatal(err)
	}
	f.add("a", "2")
	f.clock.Advance(time.Second)
	if got := f.claims(want("", 9, rule)); len(got) != 0 {
		f.Errorf("claimed %s", keysOf(got))
	}
	if f.picture().difference(other.picture()) != "" {
		f.Error("the two see different queues")
	}
}
