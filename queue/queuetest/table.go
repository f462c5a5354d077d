package queuetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// tableRules are a rule for every pair of state and event.
func tableRules() rules {
	all := rules{}
	for _, from := range append([]queue.State{queue.StateNone}, queue.States()...) {
		for _, e := range queue.Events() {
			subject := "a " + string(from) + " job"
			if from == queue.StateNone {
				subject = "no job"
			}
			move, refusal := queue.Allowed(from, e)
			if refusal != nil {
				all[fmt.Sprintf("%s refuses %s", subject, e)] = func(f *fixture) { f.refuses(from, e, refusal) }
			} else {
				all[fmt.Sprintf("%s moves by %s", subject, e)] = func(f *fixture) { f.moves(move) }
			}
		}
	}
	return all
}

// stand is a job that was brought into a state.
type stand struct {
	ref   queue.Ref
	lease queue.Claimed // of the last run, if it had one
}

// rule is what most leases of the suite are decided by.
var rule = queue.Rule{Uncertain: queue.UncertainJournal}

// brings makes a job of kind "a" that stands in a state.
func (f *fixture) brings(to queue.State) (s stand) {
	f.Helper()
	n := newJob("a", "1")
	n.MaxAttempts = 3
	switch to {
	case queue.StateNone:
		return stand{ref: queue.Ref{ID: 1 << 40}}
	case queue.StateScheduled:
		n.AvailableAt = f.clock.Now().Add(time.Hour)
	}
	s.ref.ID = f.adds(n).ID
	is := map[queue.State]queue.RunEnd{
		queue.StateDone: queue.RunDone, queue.StateDead: queue.RunDead, queue.StateQuarantined: queue.RunQuarantine,
	}[to]
	switch {
	case to == queue.StateCancelled:
		if _, err := f.Cancel(f.Context(), s.ref); err != nil {
			f.Fatal(err)
		}
	case to == queue.StateLeased:
		s.lease = f.claim("a", rule)
	case is != "":
		s.lease = f.claim("a", rule)
		f.settles(s.lease, queue.Outcome{Is: is, Reason: reasonOf(is)})
	}
	if got := f.get(s.ref.ID).State; got != to {
		f.Fatalf("brought into state %s, want %s", got, to)
	}
	return s
}

// reasonOf is a reason for what has one.
func reasonOf(is queue.RunEnd) string {
	if is == queue.RunDone {
		return ""
	}
	return "because"
}

// refuses checks a pair that the table refuses: the right sentinel, and nothing
// changes at all.
func (f *fixture) refuses(from queue.State, e queue.Event, refusal error) {
	s := f.brings(from)
	f.clock.Advance(time.Second) // a change would show in a time
	before := f.picture()
	err := f.causes(s, e)
	switch {
	case asked(e) && err == nil:
		f.Errorf("%s was not refused", e)
	case !asked(e) && err != nil:
		f.Errorf("%s: %v", e, err)
	case asked(e):
		for _, sentinel := range []error{queue.ErrLeaseLost, queue.ErrNotFound, queue.ErrConflict, queue.ErrInvalid} {
			if errors.Is(err, sentinel) != errors.Is(refusal, sentinel) {
				f.Errorf("%s is refused with %v, want what %v is", e, err, refusal)
			}
		}
	}
	after := f.picture()
	switch e {
	case queue.EventPromote: // another job was needed to bring it about
		before, after = before.of(s.ref.ID), after.of(s.ref.ID)
	case queue.EventRestore: // raises every fence, whatever was left to do
		before, after = before.withoutRenewed(), after.withoutRenewed()
	}
	if d := before.difference(after); d != "" {
		f.Errorf("what was refused changed something:\n%s", d)
	}
}

// asked reports whether somebody asks for the event by name and is told that it is
// refused. The others happen to jobs that they fit.
func asked(e queue.Event) bool {
	return !slices.Contains([]queue.Event{queue.EventPromote, queue.EventClaim, queue.EventExpire, queue.EventRestore}, e)
}

// moves checks a pair that the table allows: it leads where it may, and writes its
// history row.
func (f *fixture) moves(move queue.Transition) {
	s := f.brings(move.From)
	var story []queue.Entry
	if move.From != queue.StateNone {
		story = f.story(s.ref.ID)
	}
	f.clock.Advance(time.Second)
	if err := f.causes(s, move.Event); err != nil {
		f.Fatalf("%s: %v", move.Event, err)
	}
	if move.From == queue.StateNone {
		s.ref = queue.Ref{ID: f.everything()[0].ID}
	}
	job := f.get(s.ref.ID)
	if !slices.Contains(move.To, job.State) {
		f.Errorf("%s led to %s, want one of %v", move.Event, job.State, move.To)
	}
	now := f.story(s.ref.ID)
	f.counted()
	if move.Event == queue.EventPromote {
		if !slices.Equal(now, story) {
			f.Errorf("a promotion wrote history: %+v", now)
		}
		return
	}
	if len(now) != len(story)+1 || !slices.Equal(now[:len(story)], story) {
		f.Fatalf("history was\n%+v\nand is\n%+v\nwant one row more", story, now)
	}
	last := now[len(now)-1]
	if last.Event != move.Event || last.From != move.From || last.To != job.State || !last.At.Equal(job.UpdatedAt) ||
		last.Fence != job.Fence && last.Event != queue.EventRestore || last.Count != 1 || last.LastFence != last.Fence || !last.LastAt.Equal(last.At) {
		f.Errorf("history row %+v of %+v", last, job)
	}
	if at := job.UpdatedAt; !at.Equal(f.clock.Now()) {
		f.Errorf("updated at %v, want %v", at, f.clock.Now())
	}
	if job.State.Finished() == job.FinishedAt.IsZero() {
		f.Errorf("a %s job is finished at %v", job.State, job.FinishedAt)
	}
}

// causes does what brings an event about, whatever it then does to the job.
func (f *fixture) causes(s stand, e queue.Event) (err error) {
	f.Helper()
	switch e {
	case queue.EventEnqueue:
		_, err = f.Enqueue(f.Context(), queue.NewJob{Kind: "a", Key: "1", Payload: []byte(`"another"`)})
	case queue.EventPromote:
		f.promotes(s)
	case queue.EventClaim:
		_, err = f.Claim(f.Context(), want("a", 1, rule))
	case queue.EventExpire:
		if s.lease.Job.ID != 0 {
			f.clock.Advance(leaseLength + margin)
		}
		_, err = f.Expire(f.Context())
	case queue.EventCancel:
		_, err = f.Cancel(f.Context(), s.ref)
	case queue.EventClose:
		_, err = f.CloseJob(f.Context(), s.ref, queue.Finding{As: queue.StateDone, Note: "seen"})
	case queue.EventRequeue:
		_, err = f.Requeue(f.Context(), s.ref, queue.Requeue{Reviewed: true})
	case queue.EventRestore:
		f.restores()
	default: // ends of runs
		token := s.lease.Lease.Token
		if job, _ := f.Get(f.Context(), s.ref); job.State != queue.StateLeased {
			token = queue.NewToken() // the last one might be a replay
		}
		is := queue.RunEnd(e)
		_, err = f.Settle(f.Context(), queue.Settlement{ID: s.ref.ID, Token: token, Outcome: queue.Outcome{Is: is, Reason: reasonOf(is)}})
	}
	return err
}

// promotes lets a claim pass by a kind in which a better job is ready, when all that
// waits there is due, and then sets the clock back: what was promoted stays ready.
func (f *fixture) promotes(s stand) {
	f.Helper()
	job, _ := f.Get(f.Context(), s.ref)
	if job.State == queue.StateScheduled {
		f.clock.StepWall(2 * time.Hour)
		defer f.clock.StepWall(-2 * time.Hour)
	}
	decoy := newJob("a", "decoy")
	decoy.Priority = queue.MaxPriority
	f.adds(decoy)
	if c := f.claim("a", rule); c.Job.Key != "decoy" {
		f.Fatalf("claimed %s before the one with the highest priority", c.Job.Key)
	}
}
