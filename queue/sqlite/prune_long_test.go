package sqlite_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// longStory gives a dead job so many entries more.
func (f *fixture) longStory(id int64, entries int, event queue.Event) {
	f.Helper()
	db := raw(f, f.Path())
	mustExec(f, db, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO history (job_id, seq, at, event, from_state, to_state, attempt, fence)
		SELECT ?1, i + (SELECT max(seq) FROM history WHERE job_id = ?1), 0, ?3, 5, 5, 1, 1 FROM n`, id, entries, sqlite.Words()["event_word"][string(event)])
	_ = db.Close()
}

// healthy fails the test if doctor finds something wrong.
func (f *fixture) healthy(what string) {
	f.Helper()
	r, err := sqlite.Examine(f.Context(), f.Path(), f.options(), sqlite.Known{})
	if err != nil {
		f.Fatal(err)
	}
	for _, finding := range r.Findings {
		if !finding.OK {
			f.Errorf("%s: %s: %s", what, finding.Check, finding.Detail)
		}
	}
}

// A history that is too long for one commit goes in portions. As long as the job stands
// nobody is told anything else of it.
func TestPruneOfAHistoryInPortions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ref := f.brings("long", queue.StateDead)
	other := f.brings("dead", queue.StateDead)
	f.longStory(ref.ID, 22_000, queue.EventDead)
	f.longStory(ref.ID, 1, queue.EventNote)
	f.clock.Advance(time.Hour)
	had := f.rows(ref.ID)["history"]
	whole, err := f.History(t.Context(), ref.ID, queue.MaxHistory)
	if err != nil || len(whole) != queue.MaxHistory {
		t.Fatalf("%d entries, %v", len(whole), err)
	}
	job := f.get(ref.ID)
	var calls []int
	for left := had; ; {
		if got := f.prunes(queue.Pruning{Keep: anHour}); got.Jobs > 0 {
			if want := (queue.Pruned{Jobs: 1, More: true}); got.Jobs != want.Jobs || got.More != want.More {
				t.Errorf("with the last portion: %+v, want %+v", got, want)
			}
			break
		} else if !got.More {
			t.Fatalf("after %v rows it ends: %+v", calls, got)
		}
		now := f.rows(ref.ID)["history"]
		calls = append(calls, left-now)
		left = now
		if len(calls) > 4 {
			t.Fatalf("portions %v", calls)
		}
		story, err := f.History(t.Context(), ref.ID, queue.MaxHistory)
		if err != nil {
			t.Fatal(err)
		}
		equalJSON(t, story, whole)
		equalJSON(t, f.get(ref.ID), job)
		f.healthy("in the midst of it")
	}
	if len(calls) != 4 || calls[0] != 4000 || calls[3] != had-3*4000-queue.MaxHistory {
		t.Errorf("portions %v of %d", calls, had)
	}
	if got, want := f.rows(ref.ID), map[string]int{"jobs": 0, "job_data": 0, "results": 0, "history": 0, "effects": 0, "remembered": 1}; !maps.Equal(got, want) {
		t.Errorf("left of it: %v, want %v", got, want)
	}
	if got := f.prunes(queue.Pruning{Keep: anHour}); got.Jobs != 1 {
		t.Errorf("the other: %+v", got)
	}
	f.remembers(other.ID, queue.StateDead)
	f.healthy("at the end")
}

// Where the last move is older than all that can be asked for, it goes with the job.
func TestPruneOfMoreNotesThanCanBeAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ref := f.brings("long", queue.StateDead)
	f.longStory(ref.ID, 3000, queue.EventDead)
	f.longStory(ref.ID, 10_500, queue.EventNote)
	f.clock.Advance(time.Hour)
	if got := f.prunes(queue.Pruning{Keep: anHour}); got.Jobs != 0 || !got.More {
		t.Errorf("what is before the last move: %+v", got)
	}
	f.healthy("in the midst of it")
	if got := f.prunes(queue.Pruning{Keep: anHour}); got.Jobs != 1 {
		t.Errorf("the rest: %+v", got)
	}
	f.healthy("at the end")
}

// A job that runs again in the midst of it goes on with what is left.
func TestPruneOfAHistoryIsLeftOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ref := f.brings("long", queue.StateDead)
	f.longStory(ref.ID, 16_000, queue.EventDead)
	f.clock.Advance(time.Hour)
	if got := f.prunes(queue.Pruning{Keep: anHour}); got.Jobs != 0 || !got.More {
		t.Errorf("the first portion: %+v", got)
	}
	var got queue.Pruned
	left := f.rows(ref.ID)["history"]
	for _, err := range f.inOrder(
		func() error { _, err := f.Requeue(f.Context(), ref, queue.Requeue{Reviewed: true}); return err },
		func() (err error) { got, err = f.Prune(f.Context(), queue.Pruning{Keep: anHour}); return err },
	) {
		if err != nil {
			t.Error(err)
		}
	}
	if now := f.rows(ref.ID)["history"]; now != left+1 || got.Jobs != 0 {
		t.Errorf("%d rows, then %d: %+v", left, now, got)
	}
	if got := f.prunes(queue.Pruning{Keep: anHour}); got != (queue.Pruned{}) && got.Freed == 0 {
		t.Errorf("afterwards: %+v", got)
	}
	f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunDone})
	f.healthy("after another run")
	mustExec(t, raw(t, f.Path()), `DELETE FROM history WHERE job_id = ? AND seq = 6000`, ref.ID)
	r, err := sqlite.Examine(t.Context(), f.Path(), f.options(), sqlite.Known{})
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range r.Findings {
		if finding.Check == "history" && !strings.Contains(finding.Detail, "lacks entries") {
			t.Errorf("a gap is told as %+v", finding)
		}
	}
}
