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

// begins records an effect of a leased job, as the journal will.
func (f *fixture) begins(c queue.Claimed, name string, repeatable bool) {
	f.Helper()
	mustExec(f, raw(f, f.Path()), `INSERT INTO effects (job_id, seq, name, state, fence, repeatable, voids, begun_at)
		SELECT ?1, coalesce(max(seq), 0) + 1, ?2, 1, ?3, ?4, 0, ?5 FROM effects WHERE job_id = ?1`,
		c.Job.ID, name, c.Lease.Fence, repeatable, f.clock.Now().UnixMilli())
}

func TestSettleGoesWhereTheRulesSay(t *testing.T) {
	t.Parallel()
	after := 90 * time.Second
	backoff := queue.Backoff{Base: 10 * time.Second, Max: time.Minute}
	type outcome = queue.Outcome
	for name, c := range map[string]struct {
		rule    queue.Rule
		outcome outcome
		marked  bool
		open    string // an effect that is begun
		repeats string // a repeatable one
		state   queue.State
		delay   time.Duration // of a waiting job
		attempt int
		effects bool
		says    string // part of last_error
	}{
		"done":                     {outcome: outcome{Is: queue.RunDone}, state: queue.StateDone, attempt: 1},
		"done though marked":       {outcome: outcome{Is: queue.RunDone}, marked: true, state: queue.StateDone, attempt: 1},
		"done with an open effect": {outcome: outcome{Is: queue.RunDone}, open: "charge", state: queue.StateDone, attempt: 1, effects: true},
		"retry":                    {outcome: outcome{Is: queue.RunRetry, Reason: "no net", Backoff: backoff}, state: queue.StateScheduled, delay: 10 * time.Second, attempt: 1, says: "no net"},
		"retry, own delay":         {outcome: outcome{Is: queue.RunRetry, After: &after}, state: queue.StateScheduled, delay: after, attempt: 1},
		"retry, last attempt":      {rule: queue.Rule{MaxAttempts: 1}, outcome: outcome{Is: queue.RunRetry, Reason: "no"}, state: queue.StateDead, attempt: 1, says: "attempt 1 of 1"},
		"retry, marked":            {outcome: outcome{Is: queue.RunRetry}, marked: true, state: queue.StateCancelled, attempt: 1, effects: true},
		"retry, open effect":       {outcome: outcome{Is: queue.RunRetry}, open: "charge", state: queue.StateQuarantined, attempt: 1, effects: true, says: `"charge"`},
		"retry, cut short":         {rule: queue.Rule{MaxAttempts: 1}, outcome: outcome{Is: queue.RunRetry, CutShort: true}, state: queue.StateReady, attempt: 0},
		"retry, cut short, delay":  {outcome: outcome{Is: queue.RunRetry, CutShort: true, After: &after}, state: queue.StateScheduled, delay: after, attempt: 0},
		"dead":                     {outcome: outcome{Is: queue.RunDead, Reason: "bad address"}, state: queue.StateDead, attempt: 1, says: "bad address"},
		"dead, repeatable open":    {outcome: outcome{Is: queue.RunDead}, repeats: "charge", state: queue.StateQuarantined, attempt: 1, effects: true},
		"uncertain":                {outcome: outcome{Is: queue.RunUncertain, Reason: "killed"}, state: queue.StateQuarantined, attempt: 1, effects: true, says: "killed"},
		"uncertain, repeatable":    {rule: queue.Rule{Uncertain: queue.UncertainRepeatable}, outcome: outcome{Is: queue.RunUncertain, Backoff: backoff}, state: queue.StateScheduled, delay: 10 * time.Second, attempt: 1, effects: true},
		"uncertain, last":          {rule: queue.Rule{Uncertain: queue.UncertainRepeatable, MaxAttempts: 1}, outcome: outcome{Is: queue.RunUncertain}, state: queue.StateQuarantined, attempt: 1, effects: true},
		"uncertain, journal":       {rule: queue.Rule{Uncertain: queue.UncertainJournal, MaxAttempts: 1}, outcome: outcome{Is: queue.RunUncertain}, state: queue.StateDead, attempt: 1},
		"quarantine":               {rule: queue.Rule{Uncertain: queue.UncertainRepeatable}, outcome: outcome{Is: queue.RunQuarantine}, state: queue.StateQuarantined, attempt: 1, effects: true},
		"snooze":                   {outcome: outcome{Is: queue.RunSnooze}, state: queue.StateReady, attempt: 0},
		"snooze with a delay":      {outcome: outcome{Is: queue.RunSnooze, After: &after}, state: queue.StateScheduled, delay: after, attempt: 0},
		"never given":              {outcome: outcome{Is: queue.RunSnooze, NotGiven: true}, state: queue.StateReady, attempt: 0},
		"never given, marked":      {outcome: outcome{Is: queue.RunSnooze, NotGiven: true}, marked: true, state: queue.StateCancelled, attempt: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.add(newJob("a", "1"))
			run := f.claimOne("a", c.rule)
			if c.open != "" {
				f.begins(run, c.open, false)
			}
			if c.repeats != "" {
				f.begins(run, c.repeats, true)
			}
			if c.marked {
				if job, err := f.Cancel(t.Context(), queue.Ref{ID: 1}); err != nil || job.State != queue.StateLeased || !job.CancelRequested {
					t.Fatalf("cancel: %+v, %v", job, err)
				}
			}
			f.clock.Advance(time.Second)
			s := f.settles(run, c.outcome)
			var due time.Time
			if c.state == queue.StateReady || c.state == queue.StateScheduled {
				due = f.clock.Now().Add(c.delay)
			}
			if s.State != c.state || s.Attempt != c.attempt || s.ExternalEffectsPossible != c.effects || !s.AvailableAt.Equal(due) || s.Replay {
				t.Errorf("settled: %+v", s)
			}
			job := f.get(1)
			if job.State != c.state || job.Attempt != c.attempt || job.ExternalEffectsPossible != c.effects || !strings.Contains(job.LastError, c.says) {
				t.Errorf("job: %+v", job)
			}
			if c.state.Finished() != !job.FinishedAt.IsZero() {
				t.Errorf("finished at %v", job.FinishedAt)
			}
			if again := f.settles(run, c.outcome); !again.Replay || again.Note != s.Note || again.State != c.state || again.Attempt != c.attempt || !again.AvailableAt.Equal(due) {
				t.Errorf("the same again: %+v", again)
			}
			h, err := f.History(t.Context(), 1, 1)
			if err != nil || h[0].Attempt != 1 || h[0].Fence != 1 || h[0].Worker != "w1" || h[0].To != c.state {
				t.Errorf("last entry: %+v, %v", h, err)
			}
		})
	}
}

func TestBackoffDoublesWithEachAttempt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	for _, delay := range []time.Duration{1, 2, 4, 8, 10, 10} {
		c := f.claimOne("a", queue.Rule{MaxAttempts: 20})
		s := f.settles(c, queue.Outcome{Is: queue.RunRetry, Backoff: queue.Backoff{Base: time.Second, Max: 10 * time.Second}})
		if got := s.AvailableAt.Sub(f.clock.Now()); got != delay*time.Second {
			t.Errorf("attempt %d waits %v, want %v", c.Job.Attempt, got, delay*time.Second)
		}
		f.clock.Advance(delay * time.Second)
	}
}

func TestReplayEndsWithTheNextTransition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	after := time.Second
	c := f.claimOne("a", queue.Rule{})
	retry := queue.Outcome{Is: queue.RunRetry, Reason: "no", After: &after}
	f.settles(c, retry)
	f.reopen()
	if s := f.settles(c, retry); !s.Replay {
		t.Errorf("after reopening: %+v", s)
	}
	longer, otherReason := 2*time.Second, "yes"
	for name, o := range map[string]queue.Outcome{
		"another outcome": {Is: queue.RunDone},
		"another reason":  {Is: queue.RunRetry, Reason: otherReason, After: &after},
		"another delay":   {Is: queue.RunRetry, Reason: "no", After: &longer},
		"no delay":        {Is: queue.RunRetry, Reason: "no"},
	} {
		if _, err := f.Settle(t.Context(), queue.Settlement{ID: 1, Token: c.Lease.Token, Outcome: o}); !errors.Is(err, queue.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A promotion alone is no transition that ends it: promote by a claim of the
	// kind that finds another job first.
	first := newJob("a", "2")
	first.Priority = 100
	f.add(first)
	f.clock.Advance(time.Second)
	if got := f.claimOne("a", queue.Rule{}); got.Job.Key != "2" {
		t.Fatalf("claimed %s", got.Job.Key)
	}
	if s := f.settles(c, retry); !s.Replay || s.State != queue.StateReady {
		t.Errorf("after a promotion: %+v", s)
	}
	f.claimOne("a", queue.Rule{})
	if _, err := f.Settle(t.Context(), queue.Settlement{ID: 1, Token: c.Lease.Token, Outcome: retry}); !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("after the next claim: %v", err)
	}
}

func TestResultThatIsTooBigIsANote(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	big := jsontext.Value(`"` + strings.Repeat("x", queue.MaxResult) + `"`)
	s := f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunDone, Result: big})
	if s.State != queue.StateDone || !strings.Contains(s.Note, "not kept") {
		t.Errorf("settled: %+v", s)
	}
	if job := f.get(1); job.Result != nil {
		t.Errorf("a result of %d bytes was kept", len(job.Result))
	}
}

func TestReasonIsCutAtACharacter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	s := queue.Settlement{ID: 1, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDead, Reason: strings.Repeat("€😀", 1<<20)}}
	for range 2 { // the second is a replay
		if _, err := f.Settle(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	job := f.get(1)
	if len(job.LastError) > queue.MaxReason || !strings.HasPrefix(job.LastError, "€😀€😀") || !strings.Contains(job.LastError, "truncated") {
		t.Errorf("kept %d bytes: %.40s…", len(job.LastError), job.LastError)
	}
}

func TestSnoozesThatRepeatAreCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	snooze := func(reason string) {
		f.clock.Advance(time.Second)
		f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunSnooze, NotGiven: true, Reason: reason})
	}
	for range 50 {
		snooze("does not start")
	}
	fiftieth := f.clock.Now()
	snooze("something else")
	h, err := f.History(t.Context(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range h {
		got = append(got, fmt.Sprintf("%s×%d #%d-%d a%d", e.Event, e.Count, e.Fence, e.LastFence, e.Attempt))
	}
	want := "enqueue×1 #0-0 a0, claim×50 #1-50 a1, snooze×50 #1-50 a1, claim×1 #51-51 a1, snooze×1 #51-51 a1"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("history:\n%s\nwant\n%s", s, want)
	}
	if !h[1].At.Equal(start.Add(time.Second)) || !h[1].LastAt.Equal(fiftieth) || !h[2].LastAt.Equal(fiftieth) {
		t.Errorf("times: %v to %v, %v", h[1].At, h[1].LastAt, h[2].LastAt)
	}
	if job := f.get(1); job.Attempt != 0 || job.Fence != 51 {
		t.Errorf("job: attempt %d, fence %d", job.Attempt, job.Fence)
	}
}

// A leased job whose lease is not there, by whatever hand, is settled by nobody.
func TestSettleWithoutALease(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	db := raw(t, f.Path())
	mustExec(t, db, `CREATE TABLE aside AS SELECT * FROM leases; DELETE FROM leases`)
	_, err := f.Settle(t.Context(), queue.Settlement{ID: 1, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone}})
	if !errors.Is(err, queue.ErrLeaseLost) {
		t.Errorf("settled: %v, want lease lost", err)
	}
	if job := f.get(1); job.State != queue.StateLeased {
		t.Errorf("job: %+v", job)
	}
	mustExec(t, db, `INSERT INTO leases SELECT * FROM aside; DROP TABLE aside`)
}
