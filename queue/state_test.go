package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
)

// allStates are the states a pair can begin with.
func allStates() []queue.State {
	return append([]queue.State{queue.StateNone}, queue.States()...)
}

func TestEachPairIsDecidedOnce(t *testing.T) {
	t.Parallel()
	for _, from := range allStates() {
		for _, e := range queue.Events() {
			if n := queue.Decisions(from, e); n != 1 {
				t.Errorf("%q of a job in state %q has %d decisions, want 1", e, from, n)
			}
		}
	}
}

// The moves of the design, written down a second time: what a job can do.
func TestAllowedMoves(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`
		>enqueue>ready,scheduled
		scheduled>promote>ready
		ready>claim>leased
		leased>done>done
		leased>retry>scheduled,dead,quarantined,cancelled
		leased>dead>dead,quarantined,cancelled
		leased>uncertain>scheduled,dead,quarantined,cancelled
		leased>quarantine>quarantined,cancelled
		leased>snooze>ready,scheduled,quarantined,cancelled
		leased>expire>ready,dead,quarantined,cancelled
		scheduled>cancel>cancelled
		ready>cancel>cancelled
		leased>cancel>leased
		dead>cancel>cancelled
		quarantined>cancel>cancelled
		dead>close>done,dead,cancelled
		quarantined>close>done,dead,cancelled
		dead>requeue>ready,scheduled
		quarantined>requeue>ready,scheduled
		cancelled>requeue>ready,scheduled
		scheduled>restore>quarantined
		ready>restore>quarantined
		leased>restore>quarantined`)
	var got []string
	for _, tr := range queue.Transitions() {
		to := make([]string, len(tr.To))
		for i, s := range tr.To {
			to[i] = string(s)
		}
		got = append(got, fmt.Sprintf("%s>%s>%s", tr.From, tr.Event, strings.Join(to, ",")))
		if tr.Meaning == "" {
			t.Errorf("%s of a %s job means nothing", tr.Event, tr.From)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("allowed moves:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAllowedAgreesWithTransitions(t *testing.T) {
	t.Parallel()
	for _, from := range allStates() {
		for _, e := range queue.Events() {
			var listed *queue.Transition
			for _, tr := range queue.Transitions() {
				if tr.From == from && tr.Event == e {
					listed = &tr
				}
			}
			got, err := queue.Allowed(from, e)
			switch {
			case listed == nil && err == nil:
				t.Errorf("%s of a %q job is allowed and not listed", e, from)
			case listed != nil && err != nil:
				t.Errorf("%s of a %q job is listed and refused: %v", e, from, err)
			case listed != nil && (got.From != from || got.Event != e || !slices.Equal(got.To, listed.To)):
				t.Errorf("%s of a %q job is %+v, listed as %+v", e, from, got, *listed)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from queue.State
		e    queue.Event
		is   error
		says string
	}{
		{queue.StateDone, queue.EventRequeue, queue.ErrConflict, "requeue a done job: it is done: the same work again is a new job, under a key of its own"},
		{queue.StateReady, queue.EventClose, queue.ErrConflict, "(possible: cancel)"},
		{queue.StateQuarantined, queue.EventClaim, queue.ErrConflict, "a person decides first (possible: cancel, close, requeue)"},
		{queue.StateLeased, queue.EventClaim, queue.ErrConflict, "somebody works on it already"},
		{queue.StateCancelled, queue.EventCancel, queue.ErrConflict, "it is cancelled already (possible: requeue)"},
		{queue.StateReady, queue.EventExpire, queue.ErrConflict, "no lease stands on it"},
		{queue.StateReady, queue.EventDone, queue.ErrLeaseLost, "done of a ready job: no lease stands on it"},
		{queue.StateDone, queue.EventDone, queue.ErrLeaseLost, "no lease stands on it"},
		{queue.StateCancelled, queue.EventSnooze, queue.ErrLeaseLost, "no lease stands on it"},
		{queue.StateNone, queue.EventCancel, queue.ErrNotFound, "there is no such job"},
		{queue.StateNone, queue.EventDone, queue.ErrNotFound, "there is no such job"},
		{"asleep", queue.EventCancel, queue.ErrInvalid, `state "asleep"`},
		{queue.StateReady, "wake", queue.ErrInvalid, `event "wake"`},
	} {
		_, err := queue.Allowed(c.from, c.e)
		if !errors.Is(err, c.is) {
			t.Errorf("%s of a %q job: %v, want %v", c.e, c.from, err, c.is)
			continue
		}
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of a %q job says %q, want %q in it", c.e, c.from, err, c.says)
		}
	}
}

// A settlement of a job that nobody holds must read as a lost lease: its worker
// stops, instead of taking it for a conflict that a person has to solve.
func TestSettlingAnUnheldJobIsALostLease(t *testing.T) {
	t.Parallel()
	for _, from := range queue.States() {
		for _, e := range queue.Events() {
			_, err := queue.Allowed(from, e)
			if lost := errors.Is(err, queue.ErrLeaseLost); lost != (e.Settles() && from != queue.StateLeased) {
				t.Errorf("%s of a %s job: %v", e, from, err)
			}
		}
	}
}

func TestTransitionsAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	queue.Transitions()[0].To[0] = "spoilt"
	tr, err := queue.Allowed(queue.StateNone, queue.EventEnqueue)
	if err != nil || tr.To[0] != queue.StateReady {
		t.Errorf("after a caller wrote to its copy: %v, %v", tr.To, err)
	}
	tr.To[0] = "spoilt"
	if again, _ := queue.Allowed(queue.StateNone, queue.EventEnqueue); again.To[0] != queue.StateReady {
		t.Errorf("after a caller wrote to its answer: %v", again.To)
	}
}

func TestFinished(t *testing.T) {
	t.Parallel()
	want := []queue.State{queue.StateDone, queue.StateDead, queue.StateCancelled}
	for _, s := range allStates() {
		if got := s.Finished(); got != slices.Contains(want, s) {
			t.Errorf("%q finished: %v", s, got)
		}
	}
}

func TestTableHoldsEveryMove(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSuffix(queue.Table(), "\n"), "\n")
	if lines[0] != "| event | from | to | guard | meaning |" || lines[1] != "|---|---|---|---|---|" {
		t.Fatalf("table begins with\n%s\n%s", lines[0], lines[1])
	}
	listed := 0
	for _, line := range lines[2:] {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 {
			t.Fatalf("%d cells, want 5: %s", len(cells), line)
		}
		listed += len(strings.Split(cells[1], ", "))
	}
	if want := len(queue.Transitions()); listed != want {
		t.Errorf("the table holds %d moves, want %d", listed, want)
	}
	if want := "| claim | ready | leased |"; !strings.Contains(queue.Table(), want) {
		t.Errorf("no %q in\n%s", want, queue.Table())
	}
}
