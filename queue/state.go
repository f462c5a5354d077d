package queue

import (
	"fmt"
	"slices"
	"strings"
)

// State is where a job stands.
type State string

// StateNone is where a job stands that was not enqueued yet.
const StateNone State = ""

// The states of a job.
const (
	StateScheduled   State = "scheduled"   // due later
	StateReady       State = "ready"       // due; waits for a claim
	StateLeased      State = "leased"      // somebody works on it
	StateDone        State = "done"        // finished, with or without a result
	StateDead        State = "dead"        // failed for good; the outcome is known
	StateQuarantined State = "quarantined" // the outcome is not known; a person decides
	StateCancelled   State = "cancelled"   // nobody wants it any more
)

// Event is what moves a job.
type Event string

// The events.
const (
	EventEnqueue    Event = "enqueue"
	EventPromote    Event = "promote" // writes no history
	EventClaim      Event = "claim"
	EventDone       Event = "done"
	EventRetry      Event = "retry"
	EventDead       Event = "dead"
	EventUncertain  Event = "uncertain"
	EventQuarantine Event = "quarantine"
	EventSnooze     Event = "snooze"
	EventExpire     Event = "expire"
	EventCancel     Event = "cancel"
	EventClose      Event = "close"
	EventRequeue    Event = "requeue"
	EventRestore    Event = "restore"
)

// EventNote marks an entry of the history that moves nothing: what became known
// of a run after it was over. It is no event of the table.
const EventNote Event = "note"

// States answers the states of a job in the order of its life, StateNone left
// out. An engine's own list of states is compared with it.
func States() []State {
	return []State{
		StateScheduled, StateReady, StateLeased,
		StateDone, StateDead, StateQuarantined, StateCancelled,
	}
}

// Events answers all events. An engine's own list of events is compared with it.
func Events() []Event {
	return []Event{
		EventEnqueue, EventPromote, EventClaim,
		EventDone, EventRetry, EventDead, EventUncertain, EventQuarantine, EventSnooze, EventExpire,
		EventCancel, EventClose, EventRequeue, EventRestore,
	}
}

// Finished reports whether a job in this state is over: done, dead or
// cancelled. A quarantined job is not: a person has yet to decide.
func (s State) Finished() bool {
	return s == StateDone || s == StateDead || s == StateCancelled
}

// Settles reports whether the event ends a run by its holder's word, so that
// only the live lease's token may cause it.
func (e Event) Settles() bool {
	return slices.Contains([]Event{EventDone, EventRetry, EventDead, EventUncertain, EventQuarantine, EventSnooze}, e)
}

// A job changes its state by one of the moves below and by nothing else, and
// each move but promote writes its history row in the same transaction. Every
// pair of state and event has its decision here, refusals included; a test walks
// all pairs, so that a new state or event cannot be forgotten.

// Transition is one allowed move.
type Transition struct {
	From    State
	Event   Event
	To      []State // where it can lead; Decide says which, where there is more than one end of a run
	Guard   string  // what must still hold in the transaction that makes the move
	Meaning string
}

// rule decides about some events in some states. Without To it refuses, and
// Meaning is the reason.
type rule struct {
	On      []Event
	From    []State
	To      []State
	Guard   string
	Meaning string
}

// Guards that several moves share.
const (
	guardLease  = "the token's lease is live: the fence is the same and the deadline has not passed"
	guardExpiry = "the deadline passed the margin ago; of another boot: it was seen unchanged for its length and two margins"
)

// rules is the table. Why a move leads where it leads is told in Decide.
var rules = []rule{
	{
		On: []Event{EventEnqueue}, From: []State{StateNone}, To: []State{StateReady, StateScheduled},
		Guard:   "no job of this kind and key exists or is remembered",
		Meaning: "a job is accepted; due later, it is scheduled",
	},
	{On: eventsBut(EventEnqueue), From: []State{StateNone}, Meaning: "there is no such job"},
	{
		On: []Event{EventEnqueue}, From: States(),
		Meaning: "its kind and key are taken, for ever: the same payload and limit again is a replay, anything else a conflict",
	},

	{
		On: []Event{EventPromote}, From: []State{StateScheduled}, To: []State{StateReady},
		Guard:   "it is due",
		Meaning: "its time has come; writes no history",
	},
	{On: []Event{EventPromote}, From: []State{StateReady}, Meaning: "it is ready already"},
	{On: []Event{EventPromote}, From: []State{StateLeased}, Meaning: "somebody works on it"},
	{On: []Event{EventPromote}, From: []State{StateDone, StateDead, StateQuarantined, StateCancelled}, Meaning: "it waits for no time"},

	{
		On: []Event{EventClaim}, From: []State{StateReady}, To: []State{StateLeased},
		Guard:   "its kind is not paused and it is the next: priority, due time, id",
		Meaning: "somebody works on it: attempt and fence go up by one, under a new token",
	},
	{On: []Event{EventClaim}, From: []State{StateScheduled}, Meaning: "it is not due yet"},
	{On: []Event{EventClaim}, From: []State{StateLeased}, Meaning: "somebody works on it already"},
	{On: []Event{EventClaim}, From: []State{StateDone, StateDead, StateCancelled}, Meaning: "it is over"},
	{On: []Event{EventClaim}, From: []State{StateQuarantined}, Meaning: "nobody knows whether it happened: a person decides first"},

	{
		On: []Event{EventDone}, From: []State{StateLeased}, To: []State{StateDone},
		Guard: guardLease, Meaning: "it is finished; its result is stored",
	},
	{
		On: []Event{EventRetry}, From: []State{StateLeased},
		To:    []State{StateScheduled, StateDead, StateQuarantined, StateCancelled},
		Guard: guardLease, Meaning: "the run failed and may be repeated, after the backoff or the delay the handler asked for",
	},
	{
		On: []Event{EventDead}, From: []State{StateLeased},
		To:    []State{StateDead, StateQuarantined, StateCancelled},
		Guard: guardLease, Meaning: "the run failed for good",
	},
	{
		On: []Event{EventUncertain}, From: []State{StateLeased},
		To:    []State{StateScheduled, StateDead, StateQuarantined, StateCancelled},
		Guard: guardLease, Meaning: "nothing proves what the run did: tried again only where that is known to be harmless",
	},
	{
		On: []Event{EventQuarantine}, From: []State{StateLeased},
		To:    []State{StateQuarantined, StateCancelled},
		Guard: guardLease, Meaning: "nothing proves what the run did, and it is not to be tried again by itself",
	},
	{
		On: []Event{EventSnooze}, From: []State{StateLeased},
		To:    []State{StateReady, StateScheduled, StateQuarantined, StateCancelled},
		Guard: guardLease, Meaning: "nothing was done, or our own shutdown cut the run short: the attempt is given back",
	},
	{
		On: []Event{EventExpire}, From: []State{StateLeased},
		To:    []State{StateReady, StateDead, StateQuarantined, StateCancelled},
		Guard: guardExpiry, Meaning: "nobody settled the run: it is uncertain, and decided by the rule stored with its lease",
	},
	{On: endsOfRun(), From: unleased(), Meaning: "no lease stands on it"},

	{
		On: []Event{EventCancel}, From: []State{StateScheduled, StateReady}, To: []State{StateCancelled},
		Meaning: "nobody wants it any more",
	},
	{
		On: []Event{EventCancel}, From: []State{StateLeased}, To: []State{StateLeased},
		Meaning: "marked: its holder hears of it with the next renewal, and it is never ready or scheduled again",
	},
	{
		On: []Event{EventCancel}, From: []State{StateDead, StateQuarantined}, To: []State{StateCancelled},
		Meaning: "a person does not want it any more",
	},
	{On: []Event{EventCancel}, From: []State{StateDone}, Meaning: "it is done: there is nothing left to cancel"},
	{On: []Event{EventCancel}, From: []State{StateCancelled}, Meaning: "it is cancelled already"},

	{
		On: []Event{EventClose}, From: []State{StateDead, StateQuarantined},
		To:      []State{StateDone, StateDead, StateCancelled},
		Meaning: "a person found out what happened; the note says how",
	},
	{On: []Event{EventClose}, From: []State{StateScheduled, StateReady}, Meaning: "it still waits to run: there is nothing to find out yet"},
	{On: []Event{EventClose}, From: []State{StateLeased}, Meaning: "somebody works on it: what the run was is its holder's to say"},
	{On: []Event{EventClose}, From: []State{StateDone, StateCancelled}, Meaning: "it is over already"},

	{
		On: []Event{EventRequeue}, From: []State{StateDead, StateQuarantined, StateCancelled},
		To:      []State{StateReady, StateScheduled},
		Guard:   "no effect is open; reviewed, if it was quarantined or effects are possible since its last requeue",
		Meaning: "it runs again: attempts start anew, without a mark; receipts stay",
	},
	{On: []Event{EventRequeue}, From: []State{StateScheduled, StateReady}, Meaning: "it waits to run already"},
	{On: []Event{EventRequeue}, From: []State{StateLeased}, Meaning: "somebody works on it"},
	{On: []Event{EventRequeue}, From: []State{StateDone}, Meaning: "it is done: the same work again is a new job, under a key of its own"},

	{
		On: []Event{EventRestore}, From: []State{StateScheduled, StateReady, StateLeased}, To: []State{StateQuarantined},
		Guard:   "the database is a restored copy that nobody has opened yet",
		Meaning: "the snapshot may be older than an effect that did happen",
	},
	{On: []Event{EventRestore}, From: []State{StateDone, StateDead, StateQuarantined, StateCancelled}, Meaning: "nothing of it was left to do when the snapshot was made"},
}

func endsOfRun() []Event {
	return slices.DeleteFunc(Events(), func(e Event) bool { return !e.Settles() && e != EventExpire })
}

func eventsBut(left Event) []Event {
	return slices.DeleteFunc(Events(), func(e Event) bool { return e == left })
}

func unleased() []State {
	return slices.DeleteFunc(States(), func(s State) bool { return s == StateLeased })
}

// Transitions answers every allowed move, one for each pair of state and event.
// The slice is the caller's.
func Transitions() []Transition {
	var all []Transition
	for _, r := range rules {
		if r.To == nil {
			continue
		}
		for _, e := range r.On {
			for _, from := range r.From {
				all = append(all, r.transition(from, e))
			}
		}
	}
	return all
}

func (r rule) transition(from State, e Event) Transition {
	return Transition{From: from, Event: e, To: slices.Clone(r.To), Guard: r.Guard, Meaning: r.Meaning}
}

func (r rule) decides(from State, e Event) bool {
	return slices.Contains(r.On, e) && slices.Contains(r.From, from)
}

// Allowed answers the move that e makes of a job in state from. A refused one says
// in words why, and what a person can do with the job instead. It wraps
// ErrLeaseLost where a run is to be settled on a job that nobody holds, ErrNotFound
// for StateNone, ErrInvalid for a state or event that does not exist, and
// ErrConflict otherwise.
func Allowed(from State, e Event) (Transition, error) {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.decides(from, e) })
	if i < 0 {
		return Transition{}, fmt.Errorf("event %q of a job in state %q: no such event or state: %w", e, from, ErrInvalid)
	}
	switch r := rules[i]; {
	case r.To != nil:
		return r.transition(from, e), nil
	case from == StateNone:
		return Transition{}, fmt.Errorf("%s: %s: %w", e, r.Meaning, ErrNotFound)
	case e.Settles():
		return Transition{}, fmt.Errorf("%s of a %s job: %s: %w", e, from, r.Meaning, ErrLeaseLost)
	default:
		return Transition{}, fmt.Errorf("%s a %s job: %s%s: %w", e, from, r.Meaning, instead(from), ErrConflict)
	}
}

// instead names what a person could do with a job in state from.
func instead(from State) string {
	var can []string
	for _, e := range []Event{EventCancel, EventClose, EventRequeue} {
		if slices.ContainsFunc(rules, func(r rule) bool { return r.To != nil && r.decides(from, e) }) {
			can = append(can, string(e))
		}
	}
	if can == nil {
		return ""
	}
	return " (possible: " + strings.Join(can, ", ") + ")"
}
