package supervisor_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/supervisor"
)

// renewals records what a keeper asks for, and answers what the test says.
type renewals struct {
	supervisor.Queue
	mu     sync.Mutex
	rounds [][]queue.Renewal
	answer func(queue.Renewal) queue.Renewed
}

func (r *renewals) Renew(_ context.Context, list []queue.Renewal) ([]queue.Renewed, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds = append(r.rounds, list)
	answers := make([]queue.Renewed, len(list))
	for i, l := range list {
		answers[i] = r.answer(l)
	}
	return answers, nil
}

func claimed(c queue.Clock, id int64, length time.Duration) queue.Claimed {
	return queue.Claimed{
		Job:   queue.Job{ID: id},
		Lease: queue.Lease{Token: queue.NewToken(), Length: length, Deadline: c.Mono() + length},
	}
}

// TestKeeperKillsBeforeTheDeadline: at deadline less margin, not before, and
// each lease by its own clock.
func TestKeeperKillsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Unix(1_800_000_000, 0))
	k := supervisor.NewKeeper(nil, c)
	var killed []int64
	for id, length := range map[int64]time.Duration{1: 10 * time.Second, 2: 30 * time.Second, 3: time.Second} {
		k.Hold(claimed(c, id, length), time.Second, func() { killed = append(killed, id) })
	}
	for _, step := range []struct {
		to   time.Duration
		want []int64
	}{
		{749 * time.Millisecond, nil},
		{750 * time.Millisecond, []int64{3}}, // margin 250 ms, the least
		{8999 * time.Millisecond, []int64{3}},
		{9 * time.Second, []int64{3, 1}}, // margin 1 s
		{27 * time.Second, []int64{3, 1, 2}},
		{time.Minute, []int64{3, 1, 2}},
	} {
		c.Advance(step.to - (c.Mono() - time.Hour))
		c.StepWall(-24 * time.Hour) // wall time decides nothing
		k.Sweep()
		if !slices.Equal(killed, step.want) {
			t.Errorf("after %v killed %v, want %v", step.to, killed, step.want)
		}
	}
}

// TestKeeperRenewsTogether: one call for all, and what it answers.
func TestKeeperRenewsTogether(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Unix(1_800_000_000, 0))
	q := &renewals{answer: func(r queue.Renewal) queue.Renewed {
		switch r.ID {
		case 1:
			return queue.Renewed{Err: queue.ErrLeaseLost}
		case 2:
			return queue.Renewed{Deadline: c.Mono() + r.Length, CancelRequested: true}
		}
		return queue.Renewed{Deadline: c.Mono() + r.Length}
	}}
	k := supervisor.NewKeeper(q, c)
	var killed []int64
	leases := map[int64]*supervisor.Lease{}
	for id := range int64(4) {
		leases[id] = k.Hold(claimed(c, id, 10*time.Second), time.Second, func() { killed = append(killed, id) })
	}
	leases[3].Release()
	c.Advance(8 * time.Second)
	if err := k.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(q.rounds) != 1 || len(q.rounds[0]) != 3 {
		t.Errorf("renewed in %d calls, the first of %d leases; want one of 3", len(q.rounds), len(q.rounds[0]))
	}
	if !slices.Equal(killed, []int64{1}) {
		t.Errorf("killed %v, want the lost lease's child alone", killed)
	}
	if !leases[2].Cancelled() || leases[0].Cancelled() {
		t.Error("the cancel mark did not reach its lease, or reached another")
	}
	c.Advance(8 * time.Second)
	if k.Sweep(); !slices.Equal(killed, []int64{1}) {
		t.Errorf("killed %v although the renewal moved the deadline", killed)
	}
}

// TestKeeperDisarmed: a child that answered is not killed for a lease it no
// longer works under.
func TestKeeperDisarmed(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Unix(1_800_000_000, 0))
	k := supervisor.NewKeeper(nil, c)
	killed := false
	l := k.Hold(claimed(c, 1, time.Second), time.Second, func() { killed = true })
	if !l.Disarm() {
		t.Error("a live lease counts as lost")
	}
	c.Advance(time.Minute)
	k.Sweep()
	if killed {
		t.Error("the child was killed after it had answered")
	}
	if l.Disarm() {
		t.Error("a lost lease counts as live")
	}
}

// keep runs the renewing of a keeper until the test ends.
func keep(t *testing.T, k *supervisor.Keeper) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		k.Renew(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
}

// TestKeeperTimesEachLease: a short lease is renewed in its own interval, although
// a long one is held that was to be renewed much later.
func TestKeeperTimesEachLease(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Unix(1_800_000_000, 0))
	asked := make(chan int64, 100)
	q := &renewals{answer: func(r queue.Renewal) queue.Renewed {
		select {
		case asked <- r.ID:
		default:
		}
		return queue.Renewed{Deadline: c.Mono() + r.Length}
	}}
	k := supervisor.NewKeeper(q, c)
	long := k.Hold(claimed(c, 1, 24*time.Hour), 23*time.Hour, func() {})
	keep(t, k)
	if !long.Ensure(nil) { // renews it, so that the next is due in 23 hours
		t.Error("a lease that was renewed counts as lost")
	}
	k.Hold(claimed(c, 2, time.Second), 10*time.Millisecond, func() {})
	for id := range asked { // nothing but the timer asks
		if id == 2 {
			break
		}
	}
}

// TestKeeperEnsureEnds: a renewal is all that can be had for a lease that is
// shorter than its interval would have it; asking again and again is no use.
func TestKeeperEnsureEnds(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Unix(1_800_000_000, 0))
	q := &renewals{answer: func(r queue.Renewal) queue.Renewed { return queue.Renewed{Deadline: c.Mono() + r.Length} }}
	k := supervisor.NewKeeper(q, c)
	l := k.Hold(claimed(c, 1, time.Second), 10*time.Second, func() {})
	keep(t, k)
	if !l.Ensure(nil) {
		t.Error("a lease that was renewed counts as lost")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.rounds) != 1 {
		t.Errorf("renewed %d times, want once", len(q.rounds))
	}
}
