package queue_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// after is a delay that a handler asked for.
func after(d time.Duration) *time.Duration { return &d }

// mid is a job in the middle of its attempts; last has none left.
var (
	mid  = queue.Standing{Attempt: 2, MaxAttempts: 5}
	last = queue.Standing{Attempt: 5, MaxAttempts: 5}
)

func open(s queue.Standing, names ...string) queue.Standing {
	s.OpenEffects = names
	return s
}

func openRepeatable(s queue.Standing, names ...string) queue.Standing {
	s.OpenRepeatable = names
	return s
}

func marked(s queue.Standing) queue.Standing {
	s.Marked = true
	return s
}

func rule(s queue.Standing, r queue.UncertainRule) queue.Standing {
	s.Uncertain = r
	return s
}

const (
	noteBegun = `"charge" was begun and no receipt came: nobody knows whether it happened`
	noteAsk   = "nothing proves what the run did: a person decides"
	noteStop  = "cut short by a shutdown: the attempt does not count"
	noteMark  = "cancelled as it was asked for"
	noteLast  = "attempt 5 of 5 was the last"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	done := queue.Outcome{Is: queue.RunDone}
	retry := queue.Outcome{Is: queue.RunRetry}
	dead := queue.Outcome{Is: queue.RunDead}
	uncertain := queue.Outcome{Is: queue.RunUncertain}
	quarantine := queue.Outcome{Is: queue.RunQuarantine}
	snooze := queue.Outcome{Is: queue.RunSnooze}
	retryAfter := queue.Outcome{Is: queue.RunRetry, After: after(time.Hour)}
	snoozeAfter := queue.Outcome{Is: queue.RunSnooze, After: after(time.Hour)}
	notGiven := queue.Outcome{Is: queue.RunSnooze, NotGiven: true}
	notGivenDead := queue.Outcome{Is: queue.RunDead, NotGiven: true}
	retryCut := queue.Outcome{Is: queue.RunRetry, CutShort: true}
	retryCutAfter := queue.Outcome{Is: queue.RunRetry, CutShort: true, After: after(time.Hour)}
	uncertainCut := queue.Outcome{Is: queue.RunUncertain, CutShort: true}

	ready := func(e queue.Event, note string) queue.Decision {
		return queue.Decision{Event: e, To: queue.StateReady, RetryAt: queue.RetryNow, GiveBack: true, Note: note}
	}
	scheduled := func(e queue.Event, at queue.RetryTime) queue.Decision {
		return queue.Decision{Event: e, To: queue.StateScheduled, RetryAt: at}
	}
	quarantined := func(e queue.Event, note string) queue.Decision {
		return queue.Decision{Event: e, To: queue.StateQuarantined, EffectsPossible: true, Note: note}
	}
	cancelled := func(e queue.Event) queue.Decision {
		return queue.Decision{Event: e, To: queue.StateCancelled, EffectsPossible: true, Note: noteMark}
	}

	for _, c := range []struct {
		name string
		o    queue.Outcome
		s    queue.Standing
		want queue.Decision
	}{
		// Nothing in the way: the run's word counts.
		{"done", done, mid, queue.Decision{Event: queue.EventDone, To: queue.StateDone}},
		{"retry", retry, mid, scheduled(queue.EventRetry, queue.RetryBackoff)},
		{"retry with a delay", retryAfter, mid, scheduled(queue.EventRetry, queue.RetryAsked)},
		{"dead", dead, mid, queue.Decision{Event: queue.EventDead, To: queue.StateDead}},
		{"snooze by hand", snooze, mid, ready(queue.EventSnooze, "")},
		{"snooze with a delay", snoozeAfter, mid, queue.Decision{Event: queue.EventSnooze, To: queue.StateScheduled, RetryAt: queue.RetryAsked, GiveBack: true}},
		{"snooze with a delay of nothing", queue.Outcome{Is: queue.RunSnooze, After: after(0)}, mid, ready(queue.EventSnooze, "")},
		{"snooze on the last attempt", snooze, last, ready(queue.EventSnooze, "")},
		{"quarantine by hand", quarantine, mid, quarantined(queue.EventQuarantine, noteAsk)},
		{"quarantine by hand of a repeatable one", quarantine, rule(mid, queue.UncertainRepeatable), quarantined(queue.EventQuarantine, noteAsk)},

		// The worker never had the job.
		{"never given", notGiven, mid, ready(queue.EventSnooze, "")},
		{"never given, said uncertain", queue.Outcome{Is: queue.RunUncertain, NotGiven: true}, mid, ready(queue.EventSnooze, "")},
		{"never given, said retry", queue.Outcome{Is: queue.RunRetry, NotGiven: true}, last, ready(queue.EventSnooze, "")},
		{"its own data keeps it from starting", notGivenDead, mid, queue.Decision{Event: queue.EventDead, To: queue.StateDead}},

		// An open effect.
		{"done, effect open", done, open(mid, "charge"), queue.Decision{Event: queue.EventDone, To: queue.StateDone, EffectsPossible: true, Note: "done, charge without receipt"}},
		{"done, two effects open", done, open(mid, "charge", "mail"), queue.Decision{Event: queue.EventDone, To: queue.StateDone, EffectsPossible: true, Note: "done, charge, mail without receipt"}},
		{"retry, effect open", retry, open(mid, "charge"), quarantined(queue.EventRetry, noteBegun)},
		{"snooze, effect open", snoozeAfter, open(mid, "charge"), quarantined(queue.EventSnooze, noteBegun)},
		{"dead, effect open", dead, open(mid, "charge"), quarantined(queue.EventDead, noteBegun)},
		{"uncertain, effect open, journal", uncertain, open(rule(mid, queue.UncertainJournal), "charge"), quarantined(queue.EventUncertain, noteBegun)},
		{"uncertain, effect open, repeatable", uncertain, open(rule(mid, queue.UncertainRepeatable), "charge"), quarantined(queue.EventUncertain, noteBegun)},
		{"retry, two effects open", retry, open(mid, "charge", "mail"), quarantined(queue.EventRetry, `"charge", "mail" were begun and no receipt came: nobody knows whether they happened`)},
		{"effect open and a mark", retry, open(marked(mid), "charge"), quarantined(queue.EventRetry, noteBegun)},
		{"effect open and cut short", retryCut, open(mid, "charge"), quarantined(queue.EventRetry, noteBegun)},

		// A mark.
		{"done, marked", done, marked(mid), queue.Decision{Event: queue.EventDone, To: queue.StateDone}},
		{"retry, marked", retry, marked(mid), cancelled(queue.EventRetry)},
		{"retry, marked, last attempt", retry, marked(last), cancelled(queue.EventRetry)},
		{"dead, marked", dead, marked(mid), cancelled(queue.EventDead)},
		{"uncertain, marked", uncertain, marked(mid), cancelled(queue.EventUncertain)},
		{"quarantine, marked", quarantine, marked(mid), cancelled(queue.EventQuarantine)},
		{"cut short, marked", retryCut, marked(mid), cancelled(queue.EventRetry)},
		{"snooze, marked", snoozeAfter, marked(mid), queue.Decision{Event: queue.EventSnooze, To: queue.StateCancelled, GiveBack: true, EffectsPossible: true, Note: noteMark}},
		{"never given, marked", notGiven, marked(mid), queue.Decision{Event: queue.EventSnooze, To: queue.StateCancelled, GiveBack: true, Note: noteMark}},
		{"dead at its start, marked", notGivenDead, marked(mid), queue.Decision{Event: queue.EventDead, To: queue.StateCancelled, Note: noteMark}},

		// Uncertain.
		{"uncertain, no rule", uncertain, mid, quarantined(queue.EventUncertain, noteAsk)},
		{"uncertain, ask", uncertain, rule(mid, queue.UncertainAsk), quarantined(queue.EventUncertain, noteAsk)},
		{"uncertain, a rule nobody knows", uncertain, rule(mid, "hope"), quarantined(queue.EventUncertain, noteAsk)},
		{"uncertain, repeatable", uncertain, rule(mid, queue.UncertainRepeatable), queue.Decision{
			Event: queue.EventUncertain, To: queue.StateScheduled, RetryAt: queue.RetryBackoff, EffectsPossible: true,
			Note: "nothing proves what the run did; running it twice does no harm",
		}},
		{"uncertain, journal", uncertain, rule(mid, queue.UncertainJournal), queue.Decision{
			Event: queue.EventUncertain, To: queue.StateScheduled, RetryAt: queue.RetryBackoff,
			Note: "no effect is open, so nothing happened that matters",
		}},
		{"uncertain, as if retry", uncertain, rule(mid, queue.UncertainRetry), queue.Decision{
			Event: queue.EventUncertain, To: queue.StateScheduled, RetryAt: queue.RetryBackoff,
			Note: "nothing proves what the run did; taken as failed",
		}},
		{"an outcome nobody knows", queue.Outcome{Is: "perhaps"}, mid, quarantined(queue.EventUncertain, noteAsk)},

		// Cut short by our own shutdown.
		{"retry, cut short", retryCut, mid, ready(queue.EventSnooze, noteStop)},
		{"retry, cut short on the last attempt", retryCut, last, ready(queue.EventSnooze, noteStop)},
		{"retry, cut short, delay kept", retryCutAfter, mid, queue.Decision{Event: queue.EventSnooze, To: queue.StateScheduled, RetryAt: queue.RetryAsked, GiveBack: true, Note: noteStop}},
		{"uncertain, cut short", uncertainCut, mid, quarantined(queue.EventUncertain, noteAsk)},
		{"uncertain, cut short, journal", uncertainCut, rule(last, queue.UncertainJournal), ready(queue.EventSnooze, noteStop)},
		{"uncertain, cut short, repeatable", uncertainCut, rule(last, queue.UncertainRepeatable), queue.Decision{
			Event: queue.EventSnooze, To: queue.StateReady, RetryAt: queue.RetryNow, GiveBack: true, EffectsPossible: true, Note: noteStop,
		}},
		{"dead, cut short", queue.Outcome{Is: queue.RunDead, CutShort: true}, mid, queue.Decision{Event: queue.EventDead, To: queue.StateDead}},
		{"done, cut short", queue.Outcome{Is: queue.RunDone, CutShort: true}, mid, queue.Decision{Event: queue.EventDone, To: queue.StateDone}},
		{"snooze, cut short", queue.Outcome{Is: queue.RunSnooze, CutShort: true, After: after(time.Hour)}, mid, queue.Decision{Event: queue.EventSnooze, To: queue.StateScheduled, RetryAt: queue.RetryAsked, GiveBack: true}},

		// No attempt left.
		{"retry, last attempt", retry, last, queue.Decision{Event: queue.EventRetry, To: queue.StateDead, Note: noteLast}},
		{"retry with a delay, last attempt", retryAfter, last, queue.Decision{Event: queue.EventRetry, To: queue.StateDead, Note: noteLast}},
		{"retry, one left", retry, queue.Standing{Attempt: 4, MaxAttempts: 5}, scheduled(queue.EventRetry, queue.RetryBackoff)},
		{"retry, limit lowered meanwhile", retry, queue.Standing{Attempt: 9, MaxAttempts: 5}, queue.Decision{Event: queue.EventRetry, To: queue.StateDead, Note: "attempt 9 of 5 was the last"}},
		{"uncertain, journal, last attempt", uncertain, rule(last, queue.UncertainJournal), queue.Decision{Event: queue.EventUncertain, To: queue.StateDead, Note: noteLast}},
		{"uncertain, as if retry, last attempt", uncertain, rule(last, queue.UncertainRetry), queue.Decision{Event: queue.EventUncertain, To: queue.StateDead, Note: noteLast}},
		{"uncertain, repeatable, last attempt", uncertain, rule(last, queue.UncertainRepeatable), quarantined(queue.EventUncertain, noteLast+", and nothing proves what it did")},

		// A repeatable effect without receipt.
		{"retry, repeatable effect", retry, openRepeatable(mid, "charge"), scheduled(queue.EventRetry, queue.RetryBackoff)},
		{"snooze, repeatable effect", snooze, openRepeatable(mid, "charge"), ready(queue.EventSnooze, "")},
		{"done, repeatable effect", done, openRepeatable(mid, "charge"), queue.Decision{Event: queue.EventDone, To: queue.StateDone}},
		{"dead, repeatable effect", dead, openRepeatable(mid, "charge"), quarantined(queue.EventDead, noteBegun)},
		{"retry, last attempt, repeatable effect", retry, openRepeatable(last, "charge"), quarantined(queue.EventRetry, noteLast+"; "+noteBegun)},
		{"journal, last attempt, repeatable effect", uncertain, openRepeatable(rule(last, queue.UncertainJournal), "charge"), quarantined(queue.EventUncertain, noteLast+"; "+noteBegun)},
		{"cut short, last attempt, repeatable effect", retryCut, openRepeatable(last, "charge"), ready(queue.EventSnooze, noteStop)},
		{"dead, marked, repeatable effect", dead, openRepeatable(marked(mid), "charge"), cancelled(queue.EventDead)},
	} {
		if got := queue.Decide(c.o, c.s); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func TestDecideExpiry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		s    queue.Standing
		to   queue.State
		note string // a part of it
	}{
		{"ask", rule(mid, queue.UncertainAsk), queue.StateQuarantined, "a person decides"},
		{"no rule", mid, queue.StateQuarantined, "a person decides"},
		{"repeatable", rule(mid, queue.UncertainRepeatable), queue.StateReady, "no harm"},
		{"journal", rule(mid, queue.UncertainJournal), queue.StateReady, "no effect is open"},
		{"as if retry", rule(mid, queue.UncertainRetry), queue.StateReady, "taken as failed"},
		{"repeatable, last", rule(last, queue.UncertainRepeatable), queue.StateQuarantined, "5 of 5"},
		{"journal, last", rule(last, queue.UncertainJournal), queue.StateDead, "5 of 5"},
		{"by hand, last", rule(last, queue.UncertainRetry), queue.StateDead, "5 of 5"},
		{"journal, effect open", open(rule(mid, queue.UncertainJournal), "charge"), queue.StateQuarantined, `"charge" was begun`},
		{"journal, last, repeatable effect", openRepeatable(rule(last, queue.UncertainJournal), "charge"), queue.StateQuarantined, `"charge" was begun`},
		{"marked", marked(rule(mid, queue.UncertainRepeatable)), queue.StateCancelled, "cancelled"},
		{"marked, effect open", open(marked(mid), "charge"), queue.StateQuarantined, `"charge" was begun`},
	} {
		got := queue.DecideExpiry(c.s)
		if got.Event != queue.EventExpire || got.To != c.to || got.GiveBack || !strings.Contains(got.Note, c.note) {
			t.Errorf("%s: %+v, want expire to %s with %q", c.name, got, c.to, c.note)
		}
		if want := map[bool]queue.RetryTime{true: queue.RetryNow}[c.to == queue.StateReady]; got.RetryAt != want {
			t.Errorf("%s: due %q, want %q", c.name, got.RetryAt, want)
		}
	}
	if got := queue.DecideExpiry(marked(mid)); !got.EffectsPossible {
		t.Errorf("a marked job that expires had been given out: %+v", got)
	}
}

// everyCase calls f with each combination of what a decision depends on.
func everyCase(f func(queue.Outcome, queue.Standing)) {
	ends := []queue.RunEnd{queue.RunDone, queue.RunRetry, queue.RunDead, queue.RunUncertain, queue.RunQuarantine, queue.RunSnooze, "perhaps"}
	rules := []queue.UncertainRule{"", queue.UncertainAsk, queue.UncertainRepeatable, queue.UncertainJournal, queue.UncertainRetry, "hope"}
	bools := []bool{false, true}
	for _, is := range ends {
		for _, r := range rules {
			for _, delay := range []*time.Duration{nil, after(0), after(time.Minute)} {
				for _, attempt := range []int{1, 4, 5, 6} {
					for bits := range 32 {
						o := queue.Outcome{Is: is, After: delay, CutShort: bools[bits&1], NotGiven: bools[bits>>1&1]}
						s := queue.Standing{Attempt: attempt, MaxAttempts: 5, Uncertain: r, Marked: bools[bits>>2&1]}
						if bools[bits>>3&1] {
							s.OpenEffects = []string{"charge"}
						}
						if bools[bits>>4&1] {
							s.OpenRepeatable = []string{"mail"}
						}
						f(o, s)
					}
				}
			}
		}
	}
}

// What must hold whatever happens.
func TestDecideKeepsThePromise(t *testing.T) {
	t.Parallel()
	check := func(d queue.Decision, o queue.Outcome, s queue.Standing) {
		waits := d.To == queue.StateReady || d.To == queue.StateScheduled
		harmless := s.Uncertain == queue.UncertainRepeatable || s.Uncertain == queue.UncertainJournal || s.Uncertain == queue.UncertainRetry
		for _, broken := range []struct {
			is   bool
			what string
		}{
			{waits && s.Marked, "a job that somebody cancelled runs again"},
			{waits && len(s.OpenEffects) > 0, "a job with an open effect runs again"},
			{d.To == queue.StateDead && len(s.OpenEffects)+len(s.OpenRepeatable) > 0, "dead, and an effect of it is not known"},
			{d.To == queue.StateDone && o.Is != queue.RunDone, "done, and nobody said so"},
			{d.To != queue.StateDone && o.Is == queue.RunDone, "said done, and is not"},
			{d.To == queue.StateDead && o.Is == queue.RunQuarantine, "unknown is dead"},
			{d.To == queue.StateDead && o.Is == queue.RunUncertain && s.Uncertain == queue.UncertainRepeatable, "unknown is dead"},
			{waits && o.Is == queue.RunUncertain && !o.NotGiven && !harmless, "an uncertain run is repeated, and nobody said that it does no harm"},
			{waits && !d.GiveBack && s.Attempt >= s.MaxAttempts, "a job without attempts left runs again"},
			{d.To == queue.StateDead && o.CutShort && o.Is != queue.RunDead, "a shutdown made a job dead"},
			{waits && o.CutShort && !d.GiveBack, "a shutdown used up an attempt"},
			{d.To == queue.StateQuarantined && !d.EffectsPossible, "quarantined, and requeue would ask for no review"},
			{d.To == queue.StateCancelled && !s.Marked, "cancelled, and nobody asked"},
			{waits != (d.RetryAt != ""), "a waiting job knows when it is due, another has no such time"},
			{d.To == queue.StateReady && d.RetryAt != queue.RetryNow, "ready is due at once"},
			{d.RetryAt == queue.RetryAsked && o.After == nil, "asked for no delay"},
			{d.To == queue.StateQuarantined && d.Note == "", "a person is asked without being told why"},
		} {
			if broken.is {
				t.Errorf("%s: %+v of %+v gives %+v", broken.what, s, o, d)
			}
		}
		tr, err := queue.Allowed(queue.StateLeased, d.Event)
		if err != nil || !slices.Contains(tr.To, d.To) {
			t.Errorf("%s to %s is no move of the table (%v): %+v of %+v", d.Event, d.To, err, s, o)
		}
	}
	everyCase(func(o queue.Outcome, s queue.Standing) {
		check(queue.Decide(o, s), o, s)
		check(queue.DecideExpiry(s), queue.Outcome{Is: queue.RunUncertain}, s)
	})
}

// The table allows no end of a run that no decision leads to.
func TestDecideReachesEveryEndOfARun(t *testing.T) {
	t.Parallel()
	type end struct {
		e  queue.Event
		to queue.State
	}
	reached := map[end]bool{}
	everyCase(func(o queue.Outcome, s queue.Standing) {
		for _, d := range []queue.Decision{queue.Decide(o, s), queue.DecideExpiry(s)} {
			reached[end{d.Event, d.To}] = true
		}
	})
	for _, tr := range queue.Transitions() {
		if !tr.Event.Settles() && tr.Event != queue.EventExpire {
			continue
		}
		for _, to := range tr.To {
			if !reached[end{tr.Event, to}] {
				t.Errorf("no run ends with %s to %s", tr.Event, to)
			}
		}
	}
}
