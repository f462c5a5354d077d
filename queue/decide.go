package queue

import (
	"fmt"
	"strconv"
	"strings"
)

// What becomes of a job when its run has ended. Both functions below are pure:
// an engine calls them inside the transaction that records the end, with what
// stands there then, and nothing else decides where a job goes.
//
// The steps are taken in this order, and the first that applies decides:
//
//	 1. done is done, whatever else is known
//	 2. an effect is open: nobody knows whether it happened → quarantined
//	 3. somebody asked to cancel → cancelled
//	 4. uncertain, and repeating it may do harm → quarantined
//	 5. said dead → dead, see 7
//	 6. to be tried again, but cut short by our own shutdown → snoozed
//	 7. to be tried again, but no attempt is left → dead where it is known to have
//	    failed, quarantined where it is not; and where it would end dead, a
//	    repeatable effect without receipt counts as open → quarantined
//	 8. to be tried again → scheduled, or ready

// Standing is what the database says of a job at the moment its run ends.
type Standing struct {
	OpenEffects    []string // names begun, neither receipted nor voided, not repeatable
	OpenRepeatable []string // the same, repeatable
	Marked         bool     // somebody asked to cancel it
	Attempt        int      // of this run, from 1
	MaxAttempts    int      // the limit that counts: the enqueuer's, else the lease's, else DefaultMaxAttempts
	Uncertain      UncertainRule
}

// Decision is where a job goes and what is recorded with it.
type Decision struct {
	Event           Event // what history shows; from leased it allows To
	To              State
	GiveBack        bool      // the attempt is given back: one less is counted
	RetryAt         RetryTime // of a ready or scheduled job; else empty
	EffectsPossible bool      // set the job's flag; false leaves it as it stands
	Note            string    // why it went there, in words; empty where the event says it all
}

// RetryTime says when a job that waits again is due.
type RetryTime string

// When a job that waits again is due.
const (
	RetryNow     RetryTime = "now"
	RetryBackoff RetryTime = "backoff" // after Outcome.Backoff.Delay of its attempt
	RetryAsked   RetryTime = "asked"   // after *Outcome.After
)

// Decide says where the job of a run that was o goes.
func Decide(o Outcome, s Standing) Decision {
	is := o.Is
	if o.NotGiven && (is == RunRetry || is == RunUncertain) {
		is = RunSnooze // the run never had the job: nothing can have happened
	}
	d := Decision{Event: eventOf(is)}
	switch {
	case is == RunDone:
		d.To = StateDone
		if len(s.OpenEffects) > 0 {
			d.EffectsPossible = true
			d.Note = "done, " + strings.Join(s.OpenEffects, ", ") + " without receipt"
		}
		return d
	case len(s.OpenEffects) > 0:
		return d.quarantine(begun(s.OpenEffects))
	case s.Marked:
		d.To = StateCancelled
		d.GiveBack = is == RunSnooze
		d.EffectsPossible = !o.NotGiven
		d.Note = "cancelled as it was asked for"
		return d
	case is == RunDead:
		return d.dead(s, "")
	case is == RunSnooze:
		return d.snooze(o, "")
	case is == RunRetry:
		return d.again(o, s, UncertainRetry)
	case is == RunUncertain && repeats(s.Uncertain):
		return d.again(o, s, s.Uncertain)
	default: // uncertain or quarantine, and whatever else somebody may invent
		return d.quarantine("nothing proves what the run did: a person decides")
	}
}

// DecideExpiry says where a job goes whose run nobody settled. Such a run is
// uncertain; where it may be repeated, the job is ready at once: its lease has
// spaced it already.
func DecideExpiry(s Standing) Decision {
	d := Decide(Outcome{Is: RunUncertain}, s)
	d.Event = EventExpire
	if d.To == StateScheduled {
		d.To, d.RetryAt = StateReady, RetryNow
	}
	return d
}

// again sends a job back to wait, as long as it has attempts left. The rule says
// why it may be tried again: UncertainRetry stands for a run that said retry.
func (d Decision) again(o Outcome, s Standing, rule UncertainRule) Decision {
	d.EffectsPossible = rule == UncertainRepeatable
	if o.CutShort {
		d.Event = EventSnooze
		return d.snooze(o, "cut short by a shutdown: the attempt does not count")
	}
	last := fmt.Sprintf("attempt %d of %d was the last", s.Attempt, s.MaxAttempts)
	switch {
	case s.Attempt < s.MaxAttempts:
		d.To, d.RetryAt = StateScheduled, RetryBackoff
		if o.After != nil {
			d.RetryAt = RetryAsked
		}
		if o.Is == RunUncertain {
			d.Note = whyAgain[rule]
		}
		return d
	case rule == UncertainRepeatable:
		return d.quarantine(last + ", and nothing proves what it did")
	default:
		return d.dead(s, last)
	}
}

// whyAgain explains a further try of a run that did not ask for it.
var whyAgain = map[UncertainRule]string{
	UncertainRepeatable: "nothing proves what the run did; running it twice does no harm",
	UncertainJournal:    "no effect is open, so nothing happened that matters",
	UncertainRetry:      "nothing proves what the run did; taken as failed",
}

// snooze gives the attempt back. Without a delay the job is ready at once.
func (d Decision) snooze(o Outcome, note string) Decision {
	d.To, d.RetryAt, d.GiveBack, d.Note = StateReady, RetryNow, true, note
	if o.After != nil && *o.After > 0 {
		d.To, d.RetryAt = StateScheduled, RetryAsked
	}
	return d
}

// dead ends a job whose failure is known, unless an effect of it is not.
func (d Decision) dead(s Standing, note string) Decision {
	if len(s.OpenRepeatable) > 0 {
		return d.quarantine(joinNotes(note, begun(s.OpenRepeatable)))
	}
	d.To, d.Note = StateDead, note
	return d
}

func (d Decision) quarantine(note string) Decision {
	d.To, d.EffectsPossible, d.Note = StateQuarantined, true, note
	return d
}

// repeats reports whether a run without a known outcome may be repeated. What is
// not known by name may not.
func repeats(rule UncertainRule) bool {
	return rule == UncertainRepeatable || rule == UncertainJournal || rule == UncertainRetry
}

// eventOf is the event that history shows for a run. What is not known by name
// is uncertain.
func eventOf(is RunEnd) Event {
	switch is {
	case RunDone:
		return EventDone
	case RunRetry:
		return EventRetry
	case RunDead:
		return EventDead
	case RunQuarantine:
		return EventQuarantine
	case RunSnooze:
		return EventSnooze
	default:
		return EventUncertain
	}
}

// begun says which effects nobody knows the end of.
func begun(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = strconv.Quote(name)
	}
	verb, it := "was", "it"
	if len(names) > 1 {
		verb, it = "were", "they"
	}
	return fmt.Sprintf("%s %s begun and no receipt came: nobody knows whether %s happened", strings.Join(quoted, ", "), verb, it)
}

func joinNotes(first, second string) string {
	if first == "" {
		return second
	}
	return first + "; " + second
}
