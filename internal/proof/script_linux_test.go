package proof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// request is one that was made about a job, with the answer to it.
type request struct {
	event queue.Event // the row of the history that it adds if it was served
	err   error       // nil: it was; with queue.ErrUnknown: it may have been; else it was not
	id    int64
	token queue.Token // of what ends a run
	said  queue.Outcome
}

func (r *request) unknown() bool { return errors.Is(r.err, queue.ErrUnknown) }

func (r request) String() string {
	switch {
	case r.err == nil:
		return string(r.event) + " ok"
	case r.unknown():
		return string(r.event) + " unknown"
	}
	return fmt.Sprintf("%s not (%v)", r.event, r.err)
}

// explains reports whether a job can have that history after these requests: all
// that were served are there, in their order, none that were refused is, and no
// row comes from nowhere. A claim whose answer nobody took may be given back.
func explains(requests []request, history []queue.Entry) bool {
	return explainsWith(requests, history, false)
}

func explainsWith(requests []request, history []queue.Entry, mayGiveBack bool) bool {
	if mayGiveBack && len(history) > 0 && history[0].Event == queue.EventSnooze && explainsWith(requests, history[1:], false) {
		return true
	}
	if len(requests) == 0 {
		return len(history) == 0
	}
	r, rest := requests[0], requests[1:]
	served := len(history) > 0 && history[0].Event == r.event
	switch {
	case r.err == nil:
		return served && explainsWith(rest, history[1:], mayGiveBack)
	case r.unknown() && served && explainsWith(rest, history[1:], mayGiveBack || r.event == queue.EventClaim):
		return true
	}
	return explainsWith(rest, history, mayGiveBack)
}

// caller makes requests about jobs of a kind that is its own, and keeps the answers.
type caller struct {
	kind    string
	q       *sqlite.Queue
	chance  *rand.Rand // nil: it never leaves before it is answered
	jobs    map[string][]request
	waiting map[string]bool // may be claimed
	renewed map[string]renewal
	payload map[string]queue.NewJob
	stops   bool // it asks for nothing more once it was not served
	stopped bool
}

// renewal is what a caller knows of the last lease that it renewed.
type renewal struct {
	before, after time.Time // when the lease ends by the answers
	err           error
}

func newCaller(kind string, q *sqlite.Queue, chance *rand.Rand) *caller {
	return &caller{
		kind: kind, q: q, chance: chance,
		jobs: map[string][]request{}, waiting: map[string]bool{}, renewed: map[string]renewal{}, payload: map[string]queue.NewJob{},
	}
}

// ctx is one request's; now and then it ends early.
func (c *caller) ctx() (context.Context, context.CancelFunc) {
	if c.chance == nil || c.chance.IntN(4) > 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), time.Duration(c.chance.IntN(3000))*time.Microsecond)
}

func (c *caller) note(key string, r request) {
	c.jobs[key] = append(c.jobs[key], r)
	c.stopped = c.stopped || c.stops && r.err != nil
}

func (c *caller) newJob(key string, size int) queue.NewJob {
	n := queue.NewJob{Kind: c.kind, Key: key, Payload: fmt.Appendf(nil, "%q", strings.Repeat("p", size))}
	c.payload[key] = n
	return n
}

func (c *caller) enqueue(key string, size int) {
	if c.stopped {
		return
	}
	ctx, cancel := c.ctx()
	defer cancel()
	_, err := c.q.Enqueue(ctx, c.newJob(key, size))
	c.note(key, request{event: queue.EventEnqueue, err: err})
	c.waiting[key] = true
}

func (c *caller) enqueueMany(keys ...string) {
	if c.stopped {
		return
	}
	ctx, cancel := c.ctx()
	defer cancel()
	var list []queue.NewJob
	for _, key := range keys {
		list = append(list, c.newJob(key, 300))
	}
	answers, err := c.q.EnqueueMany(ctx, list)
	for i, key := range keys {
		r := request{event: queue.EventEnqueue, err: err}
		if err == nil {
			r.err = answers[i].Err
		}
		c.note(key, r)
		c.waiting[key] = true
	}
}

func (c *caller) claim(n int) []queue.Claimed {
	if c.stopped {
		return nil
	}
	ctx, cancel := c.ctx()
	defer cancel()
	claimed, err := c.q.Claim(ctx, queue.ClaimRequest{Worker: c.kind, Lease: time.Hour, Wants: []queue.Want{{Kind: c.kind, Max: n, Rule: queue.Rule{MaxAttempts: 9}}}})
	for _, job := range claimed {
		c.note(job.Job.Key, request{event: queue.EventClaim, id: job.Job.ID})
		delete(c.waiting, job.Job.Key)
	}
	if err != nil { // it was about all that wait
		for key := range c.waiting {
			c.note(key, request{event: queue.EventClaim, err: err})
		}
	}
	return claimed
}

func (c *caller) renew(job queue.Claimed, now time.Time) {
	if c.stopped {
		return
	}
	ctx, cancel := c.ctx()
	defer cancel()
	answers, err := c.q.Renew(ctx, []queue.Renewal{{ID: job.Job.ID, Token: job.Lease.Token, Length: 2 * time.Hour}})
	if err == nil {
		err = answers[0].Err
	}
	c.renewed[job.Job.Key] = renewal{before: now.Add(time.Hour), after: now.Add(2 * time.Hour), err: err}
}

func (c *caller) settle(job queue.Claimed, o queue.Outcome) {
	if c.stopped {
		return
	}
	ctx, cancel := c.ctx()
	defer cancel()
	_, err := c.q.Settle(ctx, queue.Settlement{ID: job.Job.ID, Token: job.Lease.Token, Outcome: o})
	if err == nil || errors.Is(err, queue.ErrUnknown) {
		delete(c.renewed, job.Job.Key)
	}
	c.note(job.Job.Key, request{event: queue.Event(o.Is), err: err, id: job.Job.ID, token: job.Lease.Token, said: o})
	if o.Is == queue.RunRetry || o.Is == queue.RunSnooze {
		c.waiting[job.Job.Key] = true
	}
}

func (c *caller) person(key string, event queue.Event) {
	if c.stopped {
		return
	}
	ctx, cancel := c.ctx()
	defer cancel()
	ref := queue.Ref{Kind: c.kind, Key: key}
	var err error
	if event == queue.EventCancel {
		_, err = c.q.Cancel(ctx, ref)
	} else {
		_, err = c.q.Requeue(ctx, ref, queue.Requeue{Reviewed: true})
		c.waiting[key] = true
	}
	c.note(key, request{event: event, err: err})
}

// play makes each kind of request, whatever became of those before.
func (c *caller) play(now time.Time) {
	at := time.Duration(0)
	ends := []queue.Outcome{
		{Is: queue.RunDone, Result: fmt.Appendf(nil, "%q", strings.Repeat("r", 5000))},
		{Is: queue.RunRetry, Reason: "again", After: &at},
		{Is: queue.RunQuarantine, Reason: "who knows"},
		{Is: queue.RunSnooze, Reason: "later", After: &at},
	}
	c.enqueue("a", 10)
	c.enqueue("b", 6000)
	c.enqueueMany("c", "d", "e")
	for i, job := range c.claim(2) {
		c.renew(job, now)
		c.settle(job, ends[i])
	}
	c.person("d", queue.EventCancel)
	for _, end := range ends[2:] {
		for _, job := range c.claim(1) {
			c.settle(job, end)
			if end.Is == queue.RunQuarantine {
				c.person(job.Job.Key, queue.EventRequeue)
			}
		}
	}
	for _, job := range c.claim(1) { // and keeps it
		c.renew(job, now)
	}
	c.enqueue("f", 2000)
}

// check answers what is not as the caller was told, in a queue that was opened anew
// on the same clock. What it was not told for certain it asks again.
func (c *caller) check(q *sqlite.Queue) error {
	var errs []error
	for key, requests := range c.jobs {
		if err := c.checkJob(q, key, requests); err != nil {
			errs = append(errs, fmt.Errorf("%s/%s, asked %v: %w", c.kind, key, requests, err))
		}
	}
	return errors.Join(errs...)
}

func (c *caller) checkJob(q *sqlite.Queue, key string, requests []request) error {
	ctx := context.Background()
	var history []queue.Entry
	job, err := q.Get(ctx, queue.Ref{Kind: c.kind, Key: key})
	exists := err == nil
	if exists {
		history, err = q.History(ctx, job.ID, 0)
	} else if errors.Is(err, queue.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return err
	}
	if !explains(requests, history) {
		return fmt.Errorf("its history is %+v", history)
	}
	if exists {
		last := history[len(history)-1]
		if job.State != last.To && !(last.To == queue.StateScheduled && job.State == queue.StateReady) {
			return fmt.Errorf("it is %s after %+v", job.State, last)
		}
		if job.State == queue.StateDone && len(job.Result) != 5002 {
			return fmt.Errorf("its result has %d bytes", len(job.Result))
		}
		if r, ok := c.renewed[key]; ok && last.Event == queue.EventClaim {
			switch kept, lost := job.LeaseExpiresAt.Equal(r.after), job.LeaseExpiresAt.Equal(r.before); {
			case r.err == nil && !kept, r.err != nil && !errors.Is(r.err, queue.ErrUnknown) && !lost, !kept && !lost:
				return fmt.Errorf("its lease ends at %v; renewed from %v to %v: %v", job.LeaseExpiresAt, r.before, r.after, r.err)
			}
		}
	}
	return c.askAgain(q, key, requests, history)
}

// askAgain repeats the requests whose outcome is unknown: the answer must be the
// truth.
func (c *caller) askAgain(q *sqlite.Queue, key string, requests []request, history []queue.Entry) error {
	first, last := requests[0], requests[len(requests)-1]
	e, err := q.Enqueue(context.Background(), c.payload[key])
	if err != nil || e.Created != (len(history) == 0) {
		return fmt.Errorf("enqueued again after %v: created %v, %v, with a history of %d rows", first, e.Created, err, len(history))
	}
	if !last.event.Settles() || !last.unknown() {
		return nil
	}
	stood := history[len(history)-1].Event == last.event
	s, err := q.Settle(context.Background(), queue.Settlement{ID: last.id, Token: last.token, Outcome: last.said})
	if err != nil || s.Replay != stood {
		return fmt.Errorf("settled again: replay %v, %v; it stood: %v", s.Replay, err, stood)
	}
	return nil
}
