package sqlite_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// told is the history of a job: event, state and detail of each entry.
func (f *fixture) told(id int64) (list []string) {
	f.Helper()
	entries, err := f.History(f.Context(), id, 0)
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, strings.TrimSpace(strings.Join([]string{string(e.Event), string(e.To), e.Detail}, " ")))
	}
	return list
}

func TestRerunMakesAJobLikeTheOld(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// Not in canonical form, and as large as a payload can be.
	text := `{ "z":1.0, "a":12345678901234567890, "\u0061b":"` + strings.Repeat("é", 100) + `", "pad":"`
	text += strings.Repeat("x", queue.MaxPayload-len(text)-2) + `"}`
	old := f.add(queue.NewJob{
		Kind: "a", Key: "old", Payload: jsontext.Value(text), Meta: jsontext.Value(`{ "m":1 }`),
		Priority: -7, MaxAttempts: 3, AvailableAt: start.Add(time.Minute),
	})
	f.clock.Advance(time.Minute)
	c := f.claimOne("a", queue.Rule{MaxAttempts: 9})
	s := queue.Settlement{ID: old.ID, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`7`)}}
	if _, err := f.Settle(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Hour)
	before := f.get(old.ID)
	e, err := f.Rerun(t.Context(), queue.Ref{Kind: "a", Key: "old"}, queue.Rerun{Key: "new"})
	if err != nil || !e.Created || e.Pruned {
		t.Fatalf("created %t, pruned %t, %v", e.Created, e.Pruned, err)
	}
	f.reopen()
	stored := f.get(e.Job.ID)
	for name, j := range map[string]queue.Job{"answered": e.Job, "stored": stored} {
		if j.ID <= old.ID || j.Kind != "a" || j.Key != "new" || j.State != queue.StateReady || string(j.Payload) != text ||
			string(j.Meta) != `{ "m":1 }` || j.Priority != -7 || j.NamedAttempts != 3 || j.MaxAttempts != 3 || j.Attempt != 0 ||
			j.Fence != 0 || !j.AvailableAt.Equal(f.clock.Now()) || !j.CreatedAt.Equal(f.clock.Now()) || j.Result != nil ||
			j.NeedsReview || j.IdempotencyKey == old.IdempotencyKey || j.IdempotencyKey == "" {
			j.Payload = nil
			t.Errorf("%s: %+v", name, j)
		}
	}
	after := f.get(old.ID)
	if after.State != queue.StateDone || !after.UpdatedAt.Equal(before.UpdatedAt) || string(after.Result) != `7` {
		t.Errorf("the old job became %s at %v", after.State, after.UpdatedAt)
	}
	if got := f.told(old.ID); len(got) != 4 || got[3] != "note done run again as #2" {
		t.Errorf("history of the old: %q", got)
	}
	if got := f.told(e.Job.ID); len(got) != 1 || got[0] != "enqueue ready like #1" {
		t.Errorf("history of the new: %q", got)
	}
	// A note is no transition: the last settlement is still a replay.
	if again, err := f.Settle(t.Context(), s); err != nil || !again.Replay {
		t.Errorf("the settlement again: %+v, %v", again, err)
	}
}

func TestRerunInEachState(t *testing.T) {
	t.Parallel()
	for _, state := range queue.States() {
		f := newFixture(t)
		ref := f.brings("old", state)
		e, err := f.Rerun(t.Context(), ref, queue.Rerun{Key: "new", Reviewed: true})
		if allowed := state.Finished(); (err == nil) != allowed || e.Created != allowed || !allowed && !errors.Is(err, queue.ErrConflict) {
			t.Errorf("of a %s job: created %t, %v", state, e.Created, err)
		}
		if got := f.get(ref.ID).State; got != state {
			t.Errorf("the %s job became %s", state, got)
		}
		if want := len(f.stands()); (want == 2) != state.Finished() {
			t.Errorf("of a %s job: %d jobs", state, want)
		}
	}
}

func TestRerunWantsAReview(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ref := f.brings("old", queue.StateQuarantined)
	if _, err := f.CloseJob(t.Context(), ref, queue.Finding{As: queue.StateDone}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Rerun(t.Context(), ref, queue.Rerun{Key: "new"}); !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), "reviewed") {
		t.Errorf("without a review: %v", err)
	}
	e, err := f.Rerun(t.Context(), ref, queue.Rerun{Key: "new", Reviewed: true})
	if err != nil || !e.Created || e.Job.NeedsReview {
		t.Errorf("reviewed: %+v, %v", e, err)
	}
	if got := f.told(e.Job.ID); len(got) != 1 || got[0] != "enqueue ready like #1; reviewed" {
		t.Errorf("history: %q", got)
	}
	if !f.get(ref.ID).NeedsReview {
		t.Error("the old job needs no review any more")
	}
}

func TestRerunWithAnOpenEffect(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	f.begins(c, "charge", false)
	f.settles(c, queue.Outcome{Is: queue.RunDone})
	_, err := f.Rerun(t.Context(), queue.Ref{ID: 1}, queue.Rerun{Key: "2", Reviewed: true})
	if !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), `"charge"`) {
		t.Errorf("rerun: %v, want a conflict that names the effect", err)
	}
	if got := f.stands(); len(got) != 1 {
		t.Errorf("jobs %v", got)
	}
}

func TestRerunUnderATakenKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ref := f.brings("old", queue.StateDead)
	first, err := f.Rerun(t.Context(), ref, queue.Rerun{Key: "new"})
	if err != nil {
		t.Fatal(err)
	}
	f.add(queue.NewJob{Kind: "a", Key: "other", Payload: jsontext.Value(`{"n":2}`)})
	f.add(queue.NewJob{Kind: "a", Key: "limited", Payload: jsontext.Value(`{"n":1}`), MaxAttempts: 2})
	for key, says := range map[string]string{
		"old":     "its own key",
		"other":   "a/other is #3 with another payload (differs at /n)",
		"limited": "a/limited is #4 with an attempt limit of 2, not no attempt limit named",
	} {
		if _, err := f.Rerun(t.Context(), ref, queue.Rerun{Key: key}); !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), says) {
			t.Errorf("as %s: %v, want a conflict that says %q", key, err, says)
		}
	}
	// The answer to the first may have been lost, and much have happened since.
	if _, err := f.Requeue(t.Context(), ref, queue.Requeue{}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Cancel(t.Context(), queue.Ref{ID: first.Job.ID}); err != nil {
		t.Fatal(err)
	}
	e, err := f.Rerun(t.Context(), ref, queue.Rerun{Key: "new"})
	if err != nil || e.Created || e.Pruned || e.Job.ID != first.Job.ID || e.Job.State != queue.StateCancelled || string(e.Job.Payload) != `{"n":1}` {
		t.Errorf("the same again: %+v, %v", e, err)
	}
	f.clock.Advance(time.Hour)
	if got := f.prunes(queue.Pruning{Keep: anHour}); got.Jobs != 1 {
		t.Fatalf("pruned %+v", got)
	}
	e, err = f.Rerun(t.Context(), ref, queue.Rerun{Key: "new"})
	if err != nil || e.Created || !e.Pruned || e.Job.ID != first.Job.ID {
		t.Errorf("the same again, pruned: %+v, %v", e, err)
	}
	if got := f.told(ref.ID); got[len(got)-2] != "note dead run again as #2" || got[len(got)-1] != "requeue ready" {
		t.Errorf("history: %q", got)
	}
	if _, err := f.Rerun(t.Context(), ref, queue.Rerun{}); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("without a key: %v", err)
	}
	if _, err := f.Rerun(t.Context(), queue.Ref{ID: 99}, queue.Rerun{Key: "x"}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("of no job: %v", err)
	}
}
