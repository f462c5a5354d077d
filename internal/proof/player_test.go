package proof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// player uses a queue in every way there is, by chance, and tells each word that
// it is given. Several may play on one queue.
type player struct {
	name   string // part of its keys
	chance *rand.Rand
	say    func(word)
	large  int // bytes that a payload or result has now and then

	kinds []string
	n     int // keys so far
	held  []queue.Claimed
	known []queue.Ref // jobs that it has heard of
}

func newPlayer(name string, seed uint64, say func(word)) *player {
	return &player{
		name: name, chance: rand.New(rand.NewPCG(seed, 7)), say: say,
		large: 8 << 10, kinds: []string{"alpha", "beta", "gamma"},
	}
}

// refused reports whether an error is an answer by the rules.
func refused(err error) bool {
	return errors.Is(err, queue.ErrConflict) || errors.Is(err, queue.ErrNotFound) || errors.Is(err, queue.ErrLeaseLost)
}

// step makes one request. An answer by the rules is no error.
func (p *player) step(ctx context.Context, q *sqlite.Queue) error {
	acts := []struct {
		weight int
		do     func(context.Context, *sqlite.Queue) error
	}{
		{20, p.enqueue}, {6, p.enqueueMany}, {18, p.claim}, {8, p.renew}, {26, p.settle},
		{6, p.cancel}, {6, p.requeue}, {4, p.close}, {2, p.pause}, {2, p.prune}, {2, p.expire}, {3, p.rerun}, {2, p.requeueMany},
	}
	total := 0
	for _, a := range acts {
		total += a.weight
	}
	drawn := p.chance.IntN(total)
	for _, a := range acts {
		if drawn -= a.weight; drawn < 0 {
			if err := a.do(ctx, q); err != nil && !refused(err) {
				return err
			}
			return nil
		}
	}
	return nil
}

func (p *player) kind() string { return p.kinds[p.chance.IntN(len(p.kinds))] }

// text is a JSON string, large now and then.
func (p *player) text() jsontext.Value {
	n := p.chance.IntN(60)
	switch p.chance.IntN(20) {
	case 0:
		n = p.chance.IntN(p.large)
	case 1, 2:
		n = p.chance.IntN(1500)
	}
	return fmt.Appendf(nil, "%q", strings.Repeat(string(rune('a'+p.chance.IntN(26))), n))
}

func (p *player) newJob() queue.NewJob {
	p.n++
	job := queue.NewJob{
		Kind: p.kind(), Key: fmt.Sprintf("%s-%d", p.name, p.n), Payload: p.text(),
		Priority: p.chance.IntN(3), MaxAttempts: p.chance.IntN(4),
	}
	if p.chance.IntN(10) == 0 {
		job.AvailableAt = time.Now().Add(time.Hour)
	}
	return job
}

func (p *player) stored(n queue.NewJob, e queue.Enqueued) {
	p.say(word{Act: "enqueue", ID: e.Job.ID, Kind: n.Kind, Key: n.Key, Payload: digest(n.Payload), Event: queue.EventEnqueue, To: e.Job.State, Fence: e.Job.Fence})
	p.known = append(p.known, queue.Ref{ID: e.Job.ID})
}

func (p *player) enqueue(ctx context.Context, q *sqlite.Queue) error {
	n := p.newJob()
	e, err := q.Enqueue(ctx, n)
	if err == nil {
		p.stored(n, e)
	}
	return err
}

func (p *player) enqueueMany(ctx context.Context, q *sqlite.Queue) error {
	var list []queue.NewJob
	for range 2 + p.chance.IntN(8) {
		list = append(list, p.newJob())
	}
	answers, err := q.EnqueueMany(ctx, list)
	for i, a := range answers {
		if a.Err == nil {
			p.stored(list[i], a.Enqueued)
		}
		err = errors.Join(err, a.Err)
	}
	return err
}

func (p *player) claim(ctx context.Context, q *sqlite.Queue) error {
	claimed, err := q.Claim(ctx, queue.ClaimRequest{
		Worker: p.name, Lease: time.Hour,
		Wants: []queue.Want{{Kind: p.kind(), Max: 1 + p.chance.IntN(3), Rule: queue.Rule{MaxAttempts: 3, Uncertain: queue.UncertainRepeatable}}},
	})
	for _, c := range claimed {
		p.say(word{Act: "claim", ID: c.Job.ID, Event: queue.EventClaim, To: queue.StateLeased, Fence: c.Lease.Fence})
	}
	p.held = append(p.held, claimed...)
	return err
}

func (p *player) renew(ctx context.Context, q *sqlite.Queue) error {
	var list []queue.Renewal
	for _, c := range p.held {
		list = append(list, queue.Renewal{ID: c.Job.ID, Token: c.Lease.Token, Length: time.Hour + time.Duration(p.n)*time.Second})
	}
	_, err := q.Renew(ctx, list)
	return err
}

func (p *player) settle(ctx context.Context, q *sqlite.Queue) error {
	if len(p.held) == 0 {
		return nil
	}
	i := p.chance.IntN(len(p.held))
	c := p.held[i]
	p.n++
	o := queue.Outcome{Is: queue.RunDone, Result: p.text()}
	event := queue.EventDone
	if is := []queue.Event{
		queue.EventDone, queue.EventDone, queue.EventRetry, queue.EventSnooze, queue.EventDead, queue.EventQuarantine, queue.EventUncertain,
	}[p.chance.IntN(7)]; is != queue.EventDone {
		// The reason is another each time, so that no rows of the history are folded.
		o = queue.Outcome{
			Is: queue.RunEnd(is), Reason: fmt.Sprintf("%s says so, number %d", p.name, p.n),
			Backoff: queue.Backoff{Base: time.Millisecond, Max: time.Millisecond},
		}
		event = is
	}
	s, err := q.Settle(ctx, queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: o})
	if err == nil || refused(err) {
		p.held = append(p.held[:i], p.held[i+1:]...)
	}
	if err == nil {
		p.say(word{Act: "settle", ID: c.Job.ID, Event: event, To: s.State, Fence: c.Lease.Fence, Result: digest(o.Result)})
	}
	return err
}

// job is one that it knows of.
func (p *player) job() (queue.Ref, bool) {
	if len(p.known) == 0 {
		return queue.Ref{}, false
	}
	return p.known[p.chance.IntN(len(p.known))], true
}

func (p *player) cancel(ctx context.Context, q *sqlite.Queue) error {
	ref, ok := p.job()
	if !ok {
		return nil
	}
	job, err := q.Cancel(ctx, ref)
	if err == nil && job.State == queue.StateCancelled { // a mark that stands already adds no row
		p.say(word{Act: "cancel", ID: job.ID, Event: queue.EventCancel, To: job.State, Fence: job.Fence})
	}
	return err
}

func (p *player) requeue(ctx context.Context, q *sqlite.Queue) error {
	ref, ok := p.job()
	if !ok {
		return nil
	}
	job, err := q.Requeue(ctx, ref, queue.Requeue{Reviewed: p.chance.IntN(3) > 0})
	if err == nil {
		p.say(word{Act: "requeue", ID: job.ID, Event: queue.EventRequeue, To: job.State, Fence: job.Fence})
	}
	return err
}

func (p *player) close(ctx context.Context, q *sqlite.Queue) error {
	ref, ok := p.job()
	if !ok {
		return nil
	}
	f := queue.Finding{As: queue.StateDone, Note: "looked", Result: p.text()}
	job, err := q.CloseJob(ctx, ref, f)
	if err == nil {
		p.say(word{Act: "close", ID: job.ID, Event: queue.EventClose, To: job.State, Fence: job.Fence, Result: digest(f.Result)})
	}
	return err
}

func (p *player) pause(ctx context.Context, q *sqlite.Queue) error {
	return q.Pause(ctx, p.kind(), p.chance.IntN(4) == 0)
}

func (p *player) expire(ctx context.Context, q *sqlite.Queue) error {
	_, err := q.Expire(ctx)
	return err
}

func (p *player) rerun(ctx context.Context, q *sqlite.Queue) error {
	ref, ok := p.job()
	if !ok {
		return nil
	}
	p.n++
	e, err := q.Rerun(ctx, ref, queue.Rerun{Key: fmt.Sprintf("%s-%d", p.name, p.n), Reviewed: p.chance.IntN(3) > 0})
	if err == nil {
		p.stored(queue.NewJob{Kind: e.Job.Kind, Key: e.Job.Key, Payload: e.Job.Payload}, e)
	}
	return err
}

func (p *player) requeueMany(ctx context.Context, q *sqlite.Queue) error {
	answer, err := q.RequeueMany(ctx, queue.RequeueMany{
		Filter: queue.Filter{Kind: p.kind(), Limit: 3}, Requeue: queue.Requeue{Reviewed: true}, Spacing: time.Millisecond,
	})
	for _, r := range answer.Jobs {
		if r.Err == nil {
			p.say(word{Act: "requeue", ID: r.Job.ID, Event: queue.EventRequeue, To: r.Job.State, Fence: r.Job.Fence})
		}
	}
	return err
}

func (p *player) prune(ctx context.Context, q *sqlite.Queue) error {
	const keep = 20 * time.Millisecond
	_, err := q.Prune(ctx, queue.Pruning{Keep: queue.Retention{Done: keep, Dead: keep, Cancelled: keep}, Limit: 5})
	return err
}

// play lets some players make steps at the same time, until each has made its
// number of them or has met an error, which is answered.
func play(ctx context.Context, q *sqlite.Queue, players []*player, steps int) error {
	errs := make([]error, len(players))
	var wg sync.WaitGroup
	for i, p := range players {
		wg.Go(func() {
			for range steps {
				if errs[i] = p.step(ctx, q); errs[i] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
