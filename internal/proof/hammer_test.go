package proof

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
)

const (
	processes   = 4
	workersEach = 8 // in each process
)

// hammering is one run of the workers.
type hammering struct {
	requests int // of each worker
	kinds    int
	keys     int           // jobs of a kind
	lease    time.Duration // of each claim
	hold     time.Duration // a worker may wait so long before it settles
}

func init() {
	// Eight workers of one process make requests and write each with its answer.
	parts["hammer"] = func(ctx context.Context, args []string) error {
		var n [6]int
		for i := range n {
			n[i], _ = strconv.Atoi(args[1+i])
		}
		h := hammering{requests: n[1], kinds: n[2], keys: n[3], lease: time.Duration(n[4]), hold: time.Duration(n[5])}
		q, err := sqlite.Open(ctx, args[0], sqlite.Options{})
		if err != nil {
			return err
		}
		all := make([][]step, workersEach)
		errs := make([]error, workersEach)
		var wg sync.WaitGroup
		for i := range workersEach {
			w := &hammerer{
				hammering: h, q: q, process: n[0], worker: i,
				chance: rand.New(rand.NewPCG(uint64(n[0]), uint64(i))), clock: clock.System(),
			}
			wg.Go(func() { all[i], errs[i] = w.run(ctx) })
		}
		wg.Wait()
		if err := errors.Join(append(errs, q.Close())...); err != nil {
			return err
		}
		return gob.NewEncoder(os.Stdout).Encode(slices.Concat(all...))
	}
}

// hammerer is one worker.
type hammerer struct {
	hammering
	q               *sqlite.Queue
	process, worker int
	chance          *rand.Rand
	clock           queue.Clock

	held []token
	used []token // settled by it, or lost
}

type token struct {
	kind, key string
	id, fence int64
	token     queue.Token
	is        queue.RunEnd // as what it was settled
}

func (h *hammerer) run(ctx context.Context) (history []step, err error) {
	for range h.requests {
		o, err := h.one(ctx)
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", o, err)
		}
		if o.Act != "" {
			history = append(history, o)
		}
	}
	return history, nil
}

// one makes one request and records it with its answer.
func (h *hammerer) one(ctx context.Context) (o step, err error) {
	o = step{Process: h.process, Worker: h.worker, Sure: true}
	o.Kind = fmt.Sprint("kind", h.chance.IntN(h.kinds))
	o.Key = keyName(h.chance.IntN(h.keys))
	act := h.act(&o)
	if h.hold > 0 && o.Act == "settle" && h.chance.IntN(4) == 0 {
		<-time.After(time.Duration(h.chance.Int64N(int64(h.hold))))
	}
	o.Call = h.clock.Mono()
	for {
		asked := ctx
		cancel := func() {}
		if h.chance.IntN(20) == 0 && (o.Act == "enqueue" || o.Act == "settle") {
			asked, cancel = context.WithTimeout(ctx, time.Duration(h.chance.IntN(4000))*time.Microsecond)
		}
		err = act(asked)
		cancel()
		if errors.Is(err, queue.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
			// Perhaps it was done: asked again, the answer is the truth. It has been
			// one request from the first call to the last answer.
			o.Sure = o.Sure && !errors.Is(err, queue.ErrUnknown)
			continue
		}
		break
	}
	o.Return = h.clock.Mono()
	for sentinel, word := range map[error]string{queue.ErrLeaseLost: "lost", queue.ErrConflict: "conflict", queue.ErrNotFound: "not found"} {
		if errors.Is(err, sentinel) {
			o.Outcome, err = word, nil
		}
	}
	return o, err
}

// act draws a request.
func (h *hammerer) act(o *step) func(context.Context) error {
	switch n := h.chance.IntN(100); {
	case n < 12:
		return h.enqueue(o)
	case n < 36:
		return h.claim(o)
	case n < 44 && len(h.held) > 0:
		return h.renew(o, h.held[h.chance.IntN(len(h.held))])
	case n < 47 && len(h.used) > 0: // with a token that is over
		return h.renew(o, h.used[h.chance.IntN(len(h.used))])
	case n < 76 && len(h.held) > 0:
		i := h.chance.IntN(len(h.held))
		t := h.held[i]
		h.held = slices.Delete(h.held, i, i+1)
		t.is = []queue.RunEnd{
			queue.RunDone, queue.RunRetry, queue.RunRetry, queue.RunRetry, queue.RunSnooze, queue.RunSnooze, queue.RunDead, queue.RunQuarantine,
		}[h.chance.IntN(8)]
		h.used = append(h.used, t)
		return h.settle(o, t)
	case n < 80 && len(h.used) > 0:
		t := h.used[max(0, len(h.used)-1-h.chance.IntN(3))]
		if h.chance.IntN(3) == 0 {
			t.is = queue.RunDead
		}
		return h.settle(o, t)
	case n < 84:
		return h.person(o, "cancel", func(ctx context.Context, ref queue.Ref) (queue.Job, error) { return h.q.Cancel(ctx, ref) })
	case n < 87:
		return h.person(o, "close", func(ctx context.Context, ref queue.Ref) (queue.Job, error) {
			return h.q.CloseJob(ctx, ref, queue.Finding{As: queue.StateCancelled, Note: "looked"})
		})
	default:
		o.Reviewed = h.chance.IntN(3) > 0
		return h.person(o, "requeue", func(ctx context.Context, ref queue.Ref) (queue.Job, error) {
			return h.q.Requeue(ctx, ref, queue.Requeue{Reviewed: o.Reviewed})
		})
	}
}

func (h *hammerer) enqueue(o *step) func(context.Context) error {
	o.Act, o.Priority = "enqueue", int(o.Key[0]-'0')%3
	return func(ctx context.Context) error {
		e, err := h.q.Enqueue(ctx, queue.NewJob{Kind: o.Kind, Key: o.Key, Priority: o.Priority, MaxAttempts: limit, Payload: []byte(`{}`)})
		// Of a replay the due time is of no matter: unless it was asked before.
		o.ID, o.Created, o.Due = e.Job.ID, e.Created, e.Job.CreatedAt.UnixMilli()
		return err
	}
}

func (h *hammerer) claim(o *step) func(context.Context) error {
	o.Act, o.Key, o.Length = "claim", "", h.lease
	return func(ctx context.Context) error {
		c, err := h.q.Claim(ctx, queue.ClaimRequest{
			Worker: fmt.Sprint(h.process, "-", h.worker), Lease: h.lease,
			Wants: []queue.Want{{Kind: o.Kind, Max: 1, Rule: queue.Rule{Uncertain: queue.UncertainRetry}}},
		})
		if len(c) > 0 {
			o.Found, o.Key, o.ID, o.Attempt, o.Fence = true, c[0].Job.Key, c[0].Job.ID, c[0].Job.Attempt, c[0].Lease.Fence
			o.Deadline = c[0].Lease.Deadline
			h.held = append(h.held, token{kind: o.Kind, key: o.Key, id: o.ID, fence: o.Fence, token: c[0].Lease.Token})
		}
		return err
	}
}

func (h *hammerer) renew(o *step, t token) func(context.Context) error {
	o.Act, o.Kind, o.Key, o.Fence, o.Length = "renew", t.kind, t.key, t.fence, h.lease
	return func(ctx context.Context) error {
		r, err := h.q.Renew(ctx, []queue.Renewal{{ID: t.id, Token: t.token, Length: h.lease}})
		if err != nil {
			return err
		}
		o.Deadline, o.Cancelled = r[0].Deadline, r[0].CancelRequested
		return r[0].Err
	}
}

func (h *hammerer) settle(o *step, t token) func(context.Context) error {
	o.Act, o.Kind, o.Key, o.Fence, o.Is = "settle", t.kind, t.key, t.fence, t.is
	outcome := queue.Outcome{Is: t.is}
	if t.is != queue.RunDone {
		outcome.Reason = "so it was"
	}
	if t.is == queue.RunRetry || t.is == queue.RunSnooze {
		outcome.After = new(time.Duration)
	}
	return func(ctx context.Context) error {
		s, err := h.q.Settle(ctx, queue.Settlement{ID: t.id, Token: t.token, Outcome: outcome})
		o.State, o.Attempt, o.Replay, o.Due = s.State, s.Attempt, s.Replay, 0
		if !s.AvailableAt.IsZero() {
			o.Due = s.AvailableAt.UnixMilli()
		}
		return err
	}
}

func (h *hammerer) person(o *step, act string, do func(context.Context, queue.Ref) (queue.Job, error)) func(context.Context) error {
	o.Act = act
	return func(ctx context.Context) error {
		j, err := do(ctx, queue.Ref{Kind: o.Kind, Key: o.Key})
		o.State, o.Due = j.State, j.AvailableAt.UnixMilli()
		return err
	}
}
