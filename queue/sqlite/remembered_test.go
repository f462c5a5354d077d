package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// remembers checks what is known of a pruned job of kind "a" whose key is the state
// in which it ended.
func (f *fixture) remembers(id int64, state queue.State) {
	f.Helper()
	again := newJob("a", string(state))
	e, err := f.Enqueue(f.Context(), again)
	j := e.Job
	if err != nil || e.Created || !e.Pruned || j.ID != id || j.Kind != "a" || j.Key != string(state) || j.State != state ||
		!j.FinishedAt.Equal(start) || j.IdempotencyKey == "" || j.Payload != nil {
		f.Errorf("the same as the pruned %s job: %+v, %v", state, e, err)
	}
	other := again
	other.Payload = jsontext.Value(`2`)
	limited := again
	limited.MaxAttempts = 3
	for _, n := range []queue.NewJob{other, limited} {
		if _, err := f.Enqueue(f.Context(), n); !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), fmt.Sprintf("a/%s is #%d", state, id)) {
			f.Errorf("another than the pruned %s job: %v", state, err)
		}
	}
	for _, ref := range []queue.Ref{{ID: id}, {Kind: "a", Key: string(state)}} {
		for act, err := range f.everyAct(ref) {
			says := "it may have been pruned since"
			if ref.ID == 0 {
				says = fmt.Sprintf("a/%s was #%d: %s %s, pruned since; its key stays taken", state, id, state,
					time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC).Local().Format("2006-01-02 15:04:05 -07:00"))
			}
			if ref.ID == 0 && act == "rerun" {
				says = "no payload is left: " + says
			}
			if !errors.Is(err, queue.ErrNotFound) || !strings.Contains(err.Error(), says) {
				f.Errorf("%s of the pruned %s job by %s: %v, want %q", act, state, ref, err, says)
			}
		}
	}
}

// everyAct tries what a person can do with a job.
func (f *fixture) everyAct(ref queue.Ref) map[string]error {
	acts := map[string]error{}
	_, acts["get"] = f.Get(f.Context(), ref)
	_, acts["cancel"] = f.Cancel(f.Context(), ref)
	_, acts["close"] = f.CloseJob(f.Context(), ref, queue.Finding{As: queue.StateDone})
	_, acts["requeue"] = f.Requeue(f.Context(), ref, queue.Requeue{Reviewed: true})
	_, acts["rerun"] = f.Rerun(f.Context(), ref, queue.Rerun{Key: "new", Reviewed: true})
	if ref.ID != 0 {
		_, acts["history"] = f.History(f.Context(), ref.ID, 0)
		acts["note"] = f.Note(f.Context(), ref.ID, 0, "x")
	}
	return acts
}

// An id is not given out again, though its job and all that were newer are pruned.
func TestPrunedIDIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	last := f.doneJob(newJob("a", "1"))
	f.clock.Advance(time.Hour)
	f.prunes(queue.Pruning{Keep: anHour})
	f.reopen()
	if job := f.add(newJob("a", "2")); job.ID <= last.ID {
		t.Errorf("job %d was made after job %d", job.ID, last.ID)
	}
}

// A replay whose job is pruned before it is told is one of a pruned job.
func TestReplayOfAJobThatIsBeingPruned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ref := f.brings("1", queue.StateDone)
	f.clock.Advance(time.Hour)
	var e queue.Enqueued
	n := newJob("a", "1")
	n.Priority = 50
	for _, err := range f.inOrder(
		func() (err error) { e, err = f.Enqueue(f.Context(), n); return err },
		func() error { _, err := f.Prune(f.Context(), queue.Pruning{Keep: anHour}); return err },
	) {
		if err != nil {
			t.Error(err)
		}
	}
	if e.Created || !e.Pruned || e.Job.ID != ref.ID || e.Job.State != queue.StateDone {
		t.Errorf("%+v", e)
	}
}
