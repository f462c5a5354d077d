package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// How long to wait between two tries to record a run.
const (
	settleFirst = 50 * time.Millisecond
	settleMost  = time.Second
)

// lastWord is how long the queue has for what is asked of it when the lease is
// lost already: nothing depends on it, so nobody waits long.
const lastWord = 5 * time.Second

var errNotGone = errors.New("processes outlive their kill")

// settle records what the run was. While the database is busy or full it tries
// again, for as long as the lease is held: the keeper renews it meanwhile.
// What was not recorded is found by expiry and falls under the handler's rule.
func (r *run) settle(v Verdict) {
	if v.LeaseLost || fired(r.lease.lost) {
		r.settleLost(v)
		return
	}
	ctx, cancel := until(r.lease.lost, r.pool.crew.stops.given)
	defer cancel()
	wait := settleFirst
	for try := 1; ; try++ {
		settled, err := r.pool.crew.queue.Settle(ctx, r.settlement(v))
		switch {
		case err == nil:
			r.settled(v, settled)
			return
		case errors.Is(err, queue.ErrLeaseLost):
			r.settleLost(v)
			return
		case fired(r.lease.lost):
			r.settleLate(v)
			return
		case final(err):
			r.pool.crew.lose(err)
			r.settleLost(v)
			return
		case errors.Is(err, queue.ErrInvalid) && v.Outcome.Is != queue.RunUncertain:
			v = unfit(v, err)
			continue
		case !passing(err):
			r.giveUp(v, err)
			return
		case try == 1:
			r.pool.crew.log.Warn("run not recorded yet; trying again while the lease is held", "job", r.job.ID, "fence", r.job.Fence, "error", err)
		}
		select {
		case <-r.lease.lost:
			r.settleLate(v)
			return
		case <-r.pool.crew.stops.given:
			r.giveUp(v, err)
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, settleMost)
	}
}

func (r *run) settlement(v Verdict) queue.Settlement {
	return queue.Settlement{ID: r.job.ID, Token: r.lease.token, Outcome: v.Outcome}
}

// settleLate asks a last time after the lease was lost while its run could not
// be recorded: it may have been, and only the answer was lost.
func (r *run) settleLate(v Verdict) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWord)
	defer cancel()
	settled, err := r.pool.crew.queue.Settle(ctx, r.settlement(v))
	if err != nil {
		r.settleLost(v)
		return
	}
	r.settled(v, settled)
}

// unfit is the verdict on a run whose outcome does not fit the queue's bounds:
// the run must not be lost over its handler's words.
func unfit(v Verdict, err error) Verdict {
	reason := queue.CutText(fmt.Sprintf("its outcome %s could not be recorded: %v", v.Outcome.Is, err), queue.MaxReason)
	return Verdict{Row: 6, Reason: reason,
		Outcome: queue.Outcome{Is: queue.RunUncertain, Reason: reason, Backoff: v.Outcome.Backoff}}
}

// settled ends a run that is recorded.
func (r *run) settled(v Verdict, s queue.Settled) {
	r.pool.streak.settled(r, v)
	r.tell(v, s, nil)
	r.logSettled(v, s)
}

// until is a context that ends when one of two channels is closed, or by cancel.
func until(a, b <-chan struct{}) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		select {
		case <-a:
		case <-b:
		case <-ctx.Done():
		}
		cancel()
	}()
	return ctx, cancel
}

// passing reports whether an error of the queue may be gone the next time.
func passing(err error) bool {
	return errors.Is(err, queue.ErrBusy) || errors.Is(err, queue.ErrFull) || errors.Is(err, queue.ErrUnknown)
}

// settleLost ends a run whose lease is lost: nothing of it is recorded but a
// note, if the handler had given an outcome.
func (r *run) settleLost(v Verdict) {
	why := r.lease.lossReason()
	if why == "" {
		why = "the queue has given the job to somebody else, or expired it"
	}
	if !v.LeaseLost && !v.Outcome.NotGiven && v.Outcome.Is != queue.RunUncertain {
		v.Late = lateOutcome(v)
	}
	v.LeaseLost = true
	if begun := r.status().PID != 0; begun && fired(r.pool.crew.stops.drain) && !r.pool.crew.keeper.holdsNothing() {
		r.pool.crew.unrecorded.Add(1) // a service that ends must not say that all is recorded
	}
	if v.Reason == "" {
		v.Reason = why
	}
	fields := []any{"job", r.job.ID, "kind", r.job.Kind, "key", visible(r.job.Key), "fence", r.job.Fence, "reason", why}
	if v.Late != "" {
		r.pool.crew.late.add(lateNote{job: r.job.ID, fence: r.job.Fence, text: v.Late})
		fields = append(fields, "late", visible(v.Late))
	}
	r.tell(v, queue.Settled{}, nil)
	r.pool.crew.log.Warn("lease lost: nothing is recorded", fields...)
}

// giveUp ends a run that cannot be recorded although its lease is held.
func (r *run) giveUp(v Verdict, err error) {
	r.pool.crew.unrecorded.Add(1)
	r.tell(v, queue.Settled{}, fmt.Errorf("record run of job %d: %w", r.job.ID, err))
	r.pool.crew.log.Error("run not recorded: its lease will end and the job falls under its handler's rule",
		"job", r.job.ID, "kind", r.job.Kind, "key", visible(r.job.Key), "fence", r.job.Fence,
		"outcome", v.Outcome.Is, "reason", visible(v.Reason), "error", err)
}

// logSettled is the one line that tells of a run.
func (r *run) logSettled(v Verdict, s queue.Settled) {
	fields := []any{
		"job", r.job.ID, "kind", r.job.Kind, "key", visible(r.job.Key), "fence", r.job.Fence, "attempt", r.job.Attempt,
		"outcome", v.Outcome.Is, "state", s.State, "took", time.Since(r.since).Round(time.Millisecond),
	}
	if v.Reason != "" {
		fields = append(fields, "reason", visible(v.Reason))
	}
	if s.Note != "" {
		fields = append(fields, "note", visible(s.Note))
	}
	switch {
	case v.Failing:
		r.pool.crew.log.Debug("job given back", fields...) // why is told once, of the handler
	case s.State == queue.StateDone:
		r.pool.crew.log.Info("run recorded", fields...)
	case s.State == queue.StateQuarantined:
		r.pool.crew.log.Warn("run recorded: the job needs a person", fields...)
	default:
		r.pool.crew.log.Warn("run recorded", fields...)
	}
}
