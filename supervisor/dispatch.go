package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
)

// How long the dispatcher sleeps when nothing wakes it.
const (
	slowNet      = 30 * time.Second       // with nothing to wait for
	queueRetry   = time.Second            // after the queue answered an error
	expireRetry  = 100 * time.Millisecond // between two rounds of expiry that found nothing
	idleHorizon  = time.Second            // UntilIdle waits for jobs due within it
	failingTries = 3                      // failed starts after which UntilIdle waits no longer for a handler
)

// dispatcher claims jobs for free slots. It is the only one that claims.
type dispatcher struct {
	s *Supervisor

	looked   time.Time                                 // for kinds without a handler
	most     int                                       // jobs to claim at once; 0: as many as there are places
	recorded func(*run, Verdict, queue.Settled, error) // told of each run's end; may be nil
}

// dispatch claims until the service is to end, which is nil; with UntilIdle
// until nothing is left to do, or can be done, which is nil, ErrFailing or
// ErrNoRoom; or until the queue cannot be used any more.
func (s *Supervisor) dispatch(ctx context.Context, changes <-chan struct{}) error {
	d := &dispatcher{s: s}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.stops.drain:
			return nil
		case <-s.wake:
		case _, open := <-changes:
			if !open {
				changes = nil
			}
		case <-timer.C:
		}
		if fired(s.stops.drain) {
			return nil
		}
		wait, idle, err := d.cycle(ctx)
		if final(err) {
			return err
		}
		s.noteQueueError(err)
		switch {
		case err != nil:
			wait = queueRetry
		case idle && s.opt.UntilIdle:
			return errors.Join(s.failingError(), s.roomError())
		}
		timer.Reset(wait)
	}
}

// cycle looks at what there is to do and hands out what can be done. It
// answers how long to sleep if nothing happens, and whether nothing is left.
func (d *dispatcher) cycle(ctx context.Context) (wait time.Duration, idle bool, err error) {
	// Counted before the queue is asked: a run recorded after its answer may
	// have left something to do that the answer does not tell.
	busy := d.s.crew.runs.count() > 0
	pools := d.s.currentPools()
	agenda, err := d.agenda(ctx, kindsOf(pools))
	if err != nil {
		return 0, false, err
	}
	var places []*reservation
	wait = slowNet
	room := d.s.hasRoom()
	if !room {
		wait = roomEvery
	}
	for _, p := range pools {
		ready := agenda.Ready[p.handler.Kind]
		if !room {
			p.expect(ready)
			continue
		}
		n := p.prepare(ready)
		if n > 0 && ready > 0 {
			places = append(places, p.reserve(int(min(int64(n), ready))))
		}
		if next, failing := p.nextTry(); failing {
			wait = min(wait, max(next, 0)+time.Millisecond)
		}
	}
	if err := d.claim(ctx, places); err != nil {
		return 0, false, err
	}
	kinds, err := d.lookForKinds(ctx)
	if err != nil {
		return 0, false, err
	}
	due := d.untilDue(agenda)
	wait = min(wait, due, d.untilExpiry(agenda), kinds)
	return wait, !busy && d.idle(pools, agenda, due, room), nil
}

func kindsOf(pools []*pool) []string {
	kinds := make([]string, len(pools))
	for i, p := range pools {
		kinds[i] = p.handler.Kind
	}
	return kinds
}

// agenda asks what there is to do, after expiring what is to be expired.
func (d *dispatcher) agenda(ctx context.Context, kinds []string) (queue.Agenda, error) {
	for {
		agenda, err := d.s.opt.Queue.Agenda(ctx, kinds)
		if err != nil {
			return agenda, fmt.Errorf("ask for work: %w", err)
		}
		d.s.crew.keeper.hurry(agenda.Cancelled)
		if !agenda.HasNextExpiry || agenda.NextExpiry > d.s.opt.Clock.Mono() {
			return agenda, nil
		}
		expired, err := d.s.opt.Queue.Expire(ctx)
		if err != nil {
			return agenda, fmt.Errorf("expire leases: %w", err)
		}
		for _, e := range expired {
			d.s.log.Warn("lease expired: nobody recorded what the run was", "job", e.ID, "kind", e.Kind,
				"key", visible(e.Key), "fence", e.Fence, "worker", visible(e.Worker), "state", e.To)
		}
		if len(expired) == 0 {
			return agenda, nil
		}
	}
}

// claim asks for exactly as many jobs as there are places and hands them over.
// How long their leases are and how often they are renewed comes from one
// configuration: a reload must not come between the two.
func (d *dispatcher) claim(ctx context.Context, places []*reservation) error {
	byKind := make(map[string]*reservation, len(places))
	lease := d.s.settings().Lease
	request := queue.ClaimRequest{Worker: d.s.opt.Worker, Lease: lease.Duration, Most: cmp.Or(d.most, queue.MaxBatch)}
	for _, r := range places {
		defer r.cancel()
		if r.places == 0 || fired(r.pool.retired) {
			continue
		}
		byKind[r.pool.handler.Kind] = r
		request.Wants = append(request.Wants, r.pool.want(r.places))
	}
	if len(request.Wants) == 0 || fired(d.s.stops.drain) {
		return nil
	}
	claimed, err := d.s.opt.Queue.Claim(ctx, request)
	if err != nil {
		return fmt.Errorf("claim jobs: %w", err)
	}
	stopping := fired(d.s.stops.drain)
	for _, c := range claimed {
		r := byKind[c.Job.Kind]
		job := r.pool.begin(c, lease.Renew, d.recorded)
		switch {
		case job == nil:
		case stopping:
			d.s.crew.children.Go(func() { job.giveBack("the service stops") })
		default:
			r.fill(job)
		}
	}
	return nil
}

// want is the pool's part of a claim.
func (p *pool) want(n int) queue.Want {
	rule := queue.Rule{MaxAttempts: p.handler.Retry.MaxAttempts, Uncertain: queue.UncertainAsk}
	if p.handler.Repeatable {
		rule.Uncertain = queue.UncertainRepeatable
	}
	return queue.Want{Kind: p.handler.Kind, Max: n, Rule: rule, HandlerDigest: p.files.now().digest}
}

// nextTry is how long until a failing handler is tried again; false if it is
// not failing or nobody waits for it.
func (p *pool) nextTry() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.reason == "" || p.waiting == 0 && p.handler.Warm == 0 {
		return 0, false
	}
	if !p.failing.waits(time.Now()) {
		return slowNet, true // a trial is under way, or wants a slot: either's end wakes the dispatcher
	}
	return time.Until(p.failing.next), true
}

// untilDue is how long until the next scheduled job. One that became due since
// the queue answered is not among the ready ones of that answer, so the queue
// must be asked again, at once.
func (d *dispatcher) untilDue(agenda queue.Agenda) time.Duration {
	if agenda.NextDue.IsZero() {
		return slowNet
	}
	return min(max(agenda.NextDue.Sub(d.s.opt.Clock.Now()), time.Millisecond), slowNet)
}

func (d *dispatcher) untilExpiry(agenda queue.Agenda) time.Duration {
	if !agenda.HasNextExpiry {
		return slowNet
	}
	return min(max(agenda.NextExpiry-d.s.opt.Clock.Mono(), expireRetry), slowNet)
}

// idle reports whether nothing runs and nothing can run soon.
func (d *dispatcher) idle(pools []*pool, agenda queue.Agenda, due time.Duration, room bool) bool {
	switch {
	case d.s.crew.runs.count() > 0 || due <= idleHorizon:
		return false
	case !room:
		return true
	}
	for _, p := range pools {
		if agenda.Ready[p.handler.Kind] > 0 && !p.hopeless() {
			return false
		}
	}
	return true
}

// hopeless reports whether the handler has failed to start often enough that
// waiting for it makes no sense.
func (p *pool) hopeless() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failing.reason != "" && p.failing.tries >= failingTries
}

// failingError names the handlers that do not start; nil if all do.
func (s *Supervisor) failingError() error {
	var words []string
	for _, p := range s.currentPools() {
		p.mu.Lock()
		if p.failing.reason != "" {
			words = append(words, fmt.Sprintf("%s does not start (tried %s): %s", p.handler.Kind, times(p.failing.tries), p.failing.reason))
		}
		p.mu.Unlock()
	}
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrFailing, strings.Join(words, "; "))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// noteQueueError logs what the queue answers when that changes.
func (s *Supervisor) noteQueueError(err error) {
	words := ""
	if err != nil {
		words = err.Error()
	}
	s.mu.Lock()
	before := s.queueError
	s.queueError = words
	s.mu.Unlock()
	switch {
	case words == before:
		return
	case words == "":
		s.log.Info("the queue answers again")
	default:
		s.log.Warn("the queue cannot be asked; trying again", "error", words)
	}
	s.crew.touched()
}

// currentPools are the pools that take jobs, by kind.
func (s *Supervisor) currentPools() []*pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	pools := make([]*pool, 0, len(s.pools))
	for _, p := range s.pools {
		pools = append(pools, p)
	}
	slices.SortFunc(pools, func(a, b *pool) int { return strings.Compare(a.handler.Kind, b.handler.Kind) })
	return pools
}

// settings is the configuration in use.
func (s *Supervisor) settings() *config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}
