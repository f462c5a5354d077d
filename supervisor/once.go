package supervisor

import (
	"context"
	"fmt"

	"github.com/b1213022/bailiff/queue"
)

// OneOutcome is how a RunOne ended.
type OneOutcome string

// The outcomes of RunOne.
const (
	OneIdle           OneOutcome = "idle"    // nothing to claim
	OneStopped        OneOutcome = "stopped" // told to stop before a job was claimed, or handed over
	OneCompleted      OneOutcome = "completed"
	OneRetryScheduled OneOutcome = "retry_scheduled"
	OneSnoozed        OneOutcome = "snoozed"
	OneDead           OneOutcome = "dead"
	OneQuarantined    OneOutcome = "quarantined"
	OneCancelled      OneOutcome = "cancelled"
	OneLeaseLost      OneOutcome = "lease_lost" // nothing was recorded; somebody else may own the job
)

// OneResult is the answer of RunOne.
type OneResult struct {
	Outcome                 OneOutcome `json:"outcome"`
	ID                      int64      `json:"id,omitzero"` // 0: no job was claimed
	Kind                    string     `json:"kind,omitzero"`
	Key                     string     `json:"key,omitzero"`
	Reason                  string     `json:"reason,omitzero"` // in words; empty for completed and idle
	ExternalEffectsPossible bool       `json:"external_effects_possible,omitzero"`
}

// RunOne claims the one job that comes first of all configured kinds, runs it
// and answers with its outcome. It waits for no job: with none ready it answers
// OneIdle. It does wait until the handlers of all that is ready can take a job,
// or turn out not to start. It is an alternative to Run, for one call. Drain
// stops it before a job is handed over, and a running one after the drain time;
// Abort and the end of ctx at once.
//
// The error is ErrFailing if jobs wait and their handlers do not start, ErrNoRoom
// if they wait for free space, or what the queue failed with; the result then tells
// what is known.
func (s *Supervisor) RunOne(ctx context.Context) (OneResult, error) {
	work, end := s.open(ctx)
	defer end()
	s.apply(s.opt.Config)
	changes, err := s.opt.Queue.Changes(work)
	if err != nil {
		return OneResult{Outcome: OneIdle}, fmt.Errorf("watch the queue for changes: %w", err)
	}
	s.helpers.Go(func() { s.listen(work, changes) })
	result, err := s.one(context.WithoutCancel(ctx))
	wound := s.wind()
	if err == nil && result.ID == 0 && wound != nil {
		result.Outcome = OneStopped
	}
	if lost := s.lostQueue(); lost != nil {
		err = lost
	}
	return result, err
}

// one claims and runs a job.
func (s *Supervisor) one(ctx context.Context) (OneResult, error) {
	type end struct {
		result OneResult
		err    error
	}
	ends := make(chan end, 1)
	d := &dispatcher{s: s, most: 1, recorded: func(r *run, v Verdict, settled queue.Settled, err error) {
		ends <- end{oneResult(r, v, settled), err}
	}}
	for s.crew.runs.count() == 0 && len(ends) == 0 { // else somebody else was quicker
		pools := s.currentPools()
		agenda, err := d.agenda(ctx, kindsOf(pools))
		if err != nil {
			return OneResult{Outcome: OneIdle}, err
		}
		if waits(pools, agenda) && !s.hasRoom() {
			return OneResult{Outcome: OneIdle}, s.roomError()
		}
		places := s.places(pools, agenda)
		if fired(s.stops.drain) {
			return OneResult{Outcome: OneStopped}, nil
		}
		if len(places) == 0 {
			return OneResult{Outcome: OneIdle}, s.failingError()
		}
		if err := d.claim(ctx, places); err != nil {
			return OneResult{Outcome: OneIdle}, err
		}
	}
	select {
	case e := <-ends:
		return e.result, e.err
	case <-s.stops.drain:
	}
	// The drain time runs in wind; afterwards the end is known.
	_ = s.wind()
	select {
	case e := <-ends:
		return e.result, e.err
	default:
		return OneResult{Outcome: OneStopped}, nil
	}
}

// places waits until each handler with jobs ready has a place for one or does
// not start, and answers the places; none when the service stops.
func (s *Supervisor) places(pools []*pool, agenda queue.Agenda) (places []*reservation) {
	for {
		var able []*pool
		settled := true
		for _, p := range pools {
			switch {
			case agenda.Ready[p.handler.Kind] == 0:
			case p.prepare(1) > 0:
				able = append(able, p)
			default:
				settled = settled && p.isFailing()
			}
		}
		if settled {
			for _, p := range able {
				places = append(places, p.reserve(1))
			}
			return places
		}
		select {
		case <-s.wake:
		case <-s.stops.drain:
			return nil
		}
	}
}

// isFailing reports whether the handler does not start.
func (p *pool) isFailing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failing.reason != ""
}

// oneResult names how a run ended.
func oneResult(r *run, v Verdict, settled queue.Settled) OneResult {
	result := OneResult{
		ID: r.job.ID, Kind: r.job.Kind, Key: r.job.Key,
		Reason: v.Reason, ExternalEffectsPossible: settled.ExternalEffectsPossible,
	}
	switch settled.State {
	case queue.StateDone:
		result.Outcome = OneCompleted
	case queue.StateDead:
		result.Outcome = OneDead
	case queue.StateQuarantined:
		result.Outcome = OneQuarantined
	case queue.StateCancelled:
		result.Outcome = OneCancelled
	case queue.StateReady, queue.StateScheduled:
		result.Outcome = OneRetryScheduled
		if settled.Attempt < r.job.Attempt { // given back
			result.Outcome = OneSnoozed
		}
	default: // nothing was recorded
		result.Outcome = OneLeaseLost
		result.ExternalEffectsPossible = true
	}
	return result
}
