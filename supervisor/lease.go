package supervisor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/hashicorp/go-hclog"
)

// This file keeps leases. The invariant: no child works on a job after its
// lease's deadline less the margin, whatever the database, the child or any
// other goroutine does.
//
// Two goroutines share the work. One renews every held lease in a single write
// each interval and may be held up by the database for as long as that likes.
// The other only looks at the clock and kills; it takes one lock that is never
// held across a call that can block.

// renewRetry is how soon a failed renewal is tried again, at the latest.
const renewRetry = time.Second

// keeper renews leases and kills for those that it could not renew.
type keeper struct {
	queue Queue
	clock queue.Clock
	log   hclog.Logger

	urgent chan struct{} // capacity 1: renew now
	timed  chan struct{} // capacity 1: a lease was added: time the next renewal anew
	looked chan struct{} // capacity 1: a lease was added: look at the clock again

	lose func(error) // told when the queue has given its last word

	mu   sync.Mutex
	held map[*lease]struct{}
	gone string // why no lease can be held any more; empty: they can
}

// lease is one held lease. Its fields below the channels belong to the
// keeper's lock.
type lease struct {
	keeper *keeper
	id     int64
	token  queue.Token
	length time.Duration
	every  time.Duration // its renew interval

	lost      chan struct{} // closed: stop, record nothing
	cancelled chan struct{} // closed: somebody wants the job cancelled

	deadline time.Duration // of the clock's Mono
	renewed  chan struct{} // closed and replaced by each renewal
	kill     func()        // nil: nothing to kill
	why      string        // it was lost, in words; empty while held
	isMarked bool
}

func newKeeper(q Queue, clock queue.Clock, log hclog.Logger) *keeper {
	return &keeper{
		queue: q, clock: clock, log: log,
		urgent: make(chan struct{}, 1),
		timed:  make(chan struct{}, 1),
		looked: make(chan struct{}, 1),
		held:   make(map[*lease]struct{}),
		lose:   func(error) {},
	}
}

// hold keeps the lease of a job just claimed until release. every is the renew
// interval that belongs to the lease's length.
func (k *keeper) hold(c queue.Claimed, every time.Duration) *lease {
	l := &lease{
		keeper: k, id: c.Job.ID, token: c.Lease.Token, length: c.Lease.Length, every: every,
		lost: make(chan struct{}), cancelled: make(chan struct{}),
		deadline: c.Lease.Deadline, renewed: make(chan struct{}),
	}
	k.mu.Lock()
	k.held[l] = struct{}{}
	if k.gone != "" {
		k.loseLocked(l, k.gone) // nothing to kill yet
	}
	k.mu.Unlock()
	signal(k.timed)
	signal(k.looked)
	return l
}

// release ends the keeping: the run is recorded, or nothing more can be.
func (l *lease) release() {
	l.keeper.mu.Lock()
	defer l.keeper.mu.Unlock()
	l.kill = nil
	delete(l.keeper.held, l)
}

// onLost names what must be killed when the lease is lost; it is called at
// once if that has happened. kill must not block.
func (l *lease) onLost(kill func()) {
	l.keeper.mu.Lock()
	l.kill = kill
	lost := l.why != ""
	l.keeper.mu.Unlock()
	if lost {
		kill()
	}
}

// disarm makes a loss kill nothing from here on; false if the lease is lost.
func (l *lease) disarm() bool {
	l.keeper.mu.Lock()
	defer l.keeper.mu.Unlock()
	l.kill = nil
	return l.why == ""
}

// leftLocked is how long a child may still work under the lease if nothing
// renews it.
func (l *lease) leftLocked() time.Duration {
	return l.deadline - queue.Margin(l.length) - l.keeper.clock.Mono()
}

// ensure answers true if one renew interval or more is left, and otherwise once
// the lease was renewed. It answers false when the lease is lost or stop is
// closed.
func (l *lease) ensure(stop <-chan struct{}) bool {
	l.keeper.mu.Lock()
	lost, enough, renewed := l.why != "", l.leftLocked() >= l.every, l.renewed
	l.keeper.mu.Unlock()
	if lost || enough {
		return !lost
	}
	signal(l.keeper.urgent)
	select {
	case <-renewed:
		return l.lossReason() == ""
	case <-l.lost:
		return false
	case <-stop:
		return false
	}
}

// renew keeps renewing until ctx ends.
func (k *keeper) renew(ctx context.Context) {
	timer := time.NewTimer(0)
	timer.Stop()
	defer timer.Stop()
	var next time.Time // that the timer is set to; zero: it is not set
	set := func(wait time.Duration) {
		next = time.Now().Add(wait)
		timer.Reset(wait)
	}
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.timed:
			every, any := k.interval()
			if any && (next.IsZero() || time.Now().Add(every).Before(next)) {
				set(every)
			}
			continue
		case <-k.urgent:
		case <-timer.C:
		}
		err := k.round(ctx)
		wait, any := k.interval()
		switch {
		case err == nil && failures > 0:
			k.log.Info("leases are renewed again", "failures", failures)
			failures = 0
		case err != nil:
			if failures++; failures == 1 {
				k.log.Warn("leases could not be renewed; trying again until their children must be killed", "error", err)
			}
			wait = min(renewRetry, wait)
		}
		if any {
			set(wait)
		} else {
			next = time.Time{}
			timer.Stop()
		}
	}
}

// round renews everything held, in one call.
func (k *keeper) round(ctx context.Context) error {
	k.mu.Lock()
	leases := make([]*lease, 0, len(k.held))
	requests := make([]queue.Renewal, 0, len(k.held))
	for l := range k.held {
		leases = append(leases, l)
		requests = append(requests, queue.Renewal{ID: l.id, Token: l.token, Length: l.length})
	}
	k.mu.Unlock()
	if len(leases) == 0 {
		return nil
	}
	answers, err := k.queue.Renew(ctx, requests)
	if err != nil {
		if final(err) {
			k.lose(err)
		}
		return err
	}
	var kills []func()
	k.mu.Lock()
	for i, a := range answers {
		l := leases[i]
		switch {
		case errors.Is(a.Err, queue.ErrLeaseLost):
			kills = append(kills, k.loseLocked(l, "another holder or an expiry took it"))
		case a.Err != nil:
			err = errors.Join(err, a.Err)
		default:
			k.renewedLocked(l, a)
		}
	}
	k.mu.Unlock()
	for _, kill := range kills {
		kill()
	}
	return err
}

func (k *keeper) renewedLocked(l *lease, a queue.Renewed) {
	if l.why != "" {
		return
	}
	l.deadline = max(l.deadline, a.Deadline)
	close(l.renewed)
	l.renewed = make(chan struct{})
	if a.CancelRequested && !l.isMarked {
		l.isMarked = true
		close(l.cancelled)
	}
}

// watch kills at deadline less margin, until ctx ends. It knows only the clock.
func (k *keeper) watch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.looked:
		case <-timer.C:
		}
		if next, any := k.sweep(); any {
			timer.Reset(next)
		}
	}
}

// sweep loses every lease that has no time left and answers how long the
// nearest of the others has.
func (k *keeper) sweep() (next time.Duration, any bool) {
	var kills []func()
	k.mu.Lock()
	for l := range k.held {
		left := l.leftLocked()
		if left <= 0 {
			kills = append(kills, k.loseLocked(l, "it could not be renewed before its deadline"))
			continue
		}
		if !any || left < next {
			next, any = left, true
		}
	}
	k.mu.Unlock()
	for _, kill := range kills {
		kill()
	}
	return next, any
}

// loseLocked marks l as lost and returns what to call without the lock. It
// logs nothing: a log that blocks must not keep the next child alive.
func (k *keeper) loseLocked(l *lease, why string) (kill func()) {
	if _, held := k.held[l]; !held {
		return func() {}
	}
	l.why = why
	delete(k.held, l)
	close(l.lost)
	if l.kill == nil {
		return func() {}
	}
	return l.kill
}

// lossReason tells in words why the lease was lost; empty while it is held.
func (l *lease) lossReason() string {
	l.keeper.mu.Lock()
	defer l.keeper.mu.Unlock()
	return l.why
}

// interval is the shortest that a held lease asks for; false if none is held.
func (k *keeper) interval() (every time.Duration, any bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for l := range k.held {
		if !any || l.every < every {
			every, any = l.every, true
		}
	}
	return every, any
}

// signal leaves a note in a channel of capacity 1.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
