package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func TestList(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, s := range queue.States() {
		f.brings(string(s), s)
	}
	late := newJob("b", "reports/1")
	late.AvailableAt = start.Add(time.Minute)
	f.add(late)
	f.clock.Advance(time.Minute)
	for name, c := range map[string]struct {
		filter queue.Filter
		want   string
	}{
		"all":          {queue.Filter{}, "scheduled ready leased done dead quarantined cancelled reports/1"},
		"one state":    {queue.Filter{States: []queue.State{queue.StateDead}}, "dead"},
		"due is ready": {queue.Filter{States: []queue.State{queue.StateReady}}, "ready reports/1"},
		"not yet due":  {queue.Filter{States: []queue.State{queue.StateScheduled}}, "scheduled"},
		"both":         {queue.Filter{States: []queue.State{queue.StateReady, queue.StateScheduled}}, "scheduled ready reports/1"},
		"attention":    {queue.Filter{States: []queue.State{queue.StateQuarantined, queue.StateDead}}, "dead quarantined"},
		"kind":         {queue.Filter{Kind: "b"}, "reports/1"},
		"unknown kind": {queue.Filter{Kind: "c"}, ""},
		"prefix":       {queue.Filter{KeyPrefix: "re"}, "ready reports/1"},
		"no wildcard":  {queue.Filter{KeyPrefix: "%"}, ""},
		"page":         {queue.Filter{After: 2, Limit: 3}, "leased done dead"},
		"age":          {queue.Filter{OlderThan: time.Minute, Kind: "b"}, "reports/1"},
		"young":        {queue.Filter{OlderThan: time.Minute + time.Millisecond}, ""},
	} {
		jobs, err := f.List(t.Context(), c.filter)
		var got []string
		for _, j := range jobs {
			got = append(got, j.Key)
			if j.Payload != nil || (j.State == queue.StateLeased) != (j.Worker == "w1") {
				t.Errorf("%s: %+v", name, j)
			}
		}
		if s := strings.Join(got, " "); err != nil || s != c.want {
			t.Errorf("%s: %q, %v, want %q", name, s, err, c.want)
		}
	}
	for _, bad := range []queue.Filter{{Limit: queue.MaxPage + 1}, {States: []queue.State{"odd"}}, {After: -1}} {
		if _, err := f.List(t.Context(), bad); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, s := range queue.States() {
		f.brings(string(s), s)
	}
	for i, priority := range []int{7, -7, 0} {
		n := newJob("b", fmt.Sprint(i))
		n.Priority, n.AvailableAt = priority, start.Add(time.Duration(2-i)*time.Second)
		f.add(n)
	}
	if err := f.Pause(t.Context(), "b", true); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(10 * time.Second)
	m, err := f.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one := queue.Counts{Scheduled: 1, Ready: 1, Leased: 1, Done: 1, Dead: 1, Quarantined: 1, Cancelled: 1}
	if got, want := m.Kinds["a"], (queue.KindMetrics{Counts: one, OldestReady: 10 * time.Second, HasOldestReady: true}); got != want {
		t.Errorf("a: %+v, want %+v", got, want)
	}
	if got, want := m.Kinds["b"], (queue.KindMetrics{Counts: queue.Counts{Ready: 3}, Paused: true, OldestReady: 10 * time.Second, HasOldestReady: true}); got != want {
		t.Errorf("b: %+v, want %+v", got, want)
	}
	if one.Ready = 4; m.Counts != one {
		t.Errorf("all: %+v, want %+v", m.Counts, one)
	}
}

func TestAgenda(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, kind := range []string{"a", "b", "paused"} {
		f.add(newJob(kind, "now"))
		later := newJob(kind, "later")
		later.AvailableAt = start.Add(time.Duration(10-i) * time.Minute)
		f.add(later)
	}
	if err := f.Pause(t.Context(), "paused", true); err != nil {
		t.Fatal(err)
	}
	f.claimOne("b", queue.Rule{})
	a, err := f.Agenda(t.Context(), []string{"a", "b", "paused", "unknown"})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Ready) != 1 || a.Ready["a"] != 1 || !a.NextDue.Equal(start.Add(9*time.Minute)) ||
		!a.HasNextExpiry || a.NextExpiry != f.clock.Mono()+11*time.Second {
		t.Errorf("agenda: %+v", a)
	}
	f.clock.Advance(10 * time.Minute)
	if a, err := f.Agenda(t.Context(), []string{"a", "b"}); err != nil || a.Ready["a"] != 2 || a.Ready["b"] != 1 || !a.NextDue.IsZero() {
		t.Errorf("when all is due: %+v, %v", a, err)
	}
}

// TestAgendaTellsOfCancelledJobs: those that somebody works on, whatever kinds are
// asked for, until their runs end.
func TestAgendaTellsOfCancelledJobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, key := range []string{"1", "2", "3", "4"} {
		f.add(newJob("a", key))
	}
	two := f.claims(want("a", 3, queue.Rule{}))[1]
	for _, id := range []int64{2, 3, 4} { // the last one waits: it is cancelled at once
		if _, err := f.Cancel(t.Context(), queue.Ref{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	cancelled := func(want ...int64) {
		t.Helper()
		if a, err := f.Agenda(t.Context(), nil); err != nil || !slices.Equal(a.Cancelled, want) {
			t.Errorf("cancelled: %v, %v, want %v", a.Cancelled, err, want)
		}
	}
	cancelled(2, 3)
	if _, err := f.Settle(t.Context(), queue.Settlement{ID: 2, Token: two.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone}}); err != nil {
		t.Fatal(err)
	}
	cancelled(3)
}

func TestHistoryAnswersTheNewest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	for i := range 5 {
		if err := f.Note(t.Context(), 1, 0, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := f.History(t.Context(), 1, 2)
	if err != nil || len(h) != 2 || h[0].Detail != "3" || h[1].Detail != "4" {
		t.Errorf("newest two: %+v, %v", h, err)
	}
	if _, err := f.History(t.Context(), 1, queue.MaxHistory+1); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("too many: %v", err)
	}
	if _, err := f.History(t.Context(), 2, 0); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("unknown job: %v", err)
	}
}

func TestHandlerDigestIsInTheHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	r := want("a", 1, queue.Rule{})
	r.Wants[0].HandlerDigest = strings.Repeat("ab", 32)
	f.claims(r)
	h, err := f.History(t.Context(), 1, 1)
	if err != nil || !strings.Contains(h[0].Detail, r.Wants[0].HandlerDigest) {
		t.Errorf("claim: %+v, %v", h, err)
	}
}

// Agenda does not count more than anybody hands out.
func TestAgendaEndsCounting(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.fellDue("a", 1500)
	f.fellDue("b", 999)
	a, err := f.Agenda(t.Context(), []string{"a", "b"})
	if err != nil || a.Ready["a"] != 1000 || a.Ready["b"] != 999 {
		t.Errorf("agenda: %v, %v", a.Ready, err)
	}
	if m, err := f.Metrics(t.Context()); err != nil || m.Kinds["a"].Ready != 1500 || m.Kinds["a"].Scheduled != 0 {
		t.Errorf("metrics: %+v, %v", m.Kinds["a"], err)
	}
}

// Jobs that are due by the monotonic clock alone are counted beside those that are
// due by both.
func TestDueByEitherClockIsCountedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 6 {
		f.add(newJob("a", fmt.Sprint(i)))
		delay := time.Duration(1+i) * time.Minute
		f.settles(f.claimOne("a", queue.Rule{}), queue.Outcome{Is: queue.RunRetry, After: &delay})
	}
	f.clock.Advance(2 * time.Minute)
	f.clock.StepWall(-time.Minute)
	f.clock.Advance(2 * time.Minute) // four by the monotonic clock, three by the wall clock
	a, err := f.Agenda(t.Context(), []string{"a"})
	if err != nil || a.Ready["a"] != 4 || !a.NextDue.Equal(f.clock.Now().Add(time.Minute)) {
		t.Errorf("agenda: %+v, %v", a, err)
	}
	if m, err := f.Metrics(t.Context()); err != nil || m.Ready != 4 || m.Scheduled != 2 || m.Kinds["a"].OldestReady != 2*time.Minute {
		t.Errorf("metrics: %+v, %v", m, err)
	}
	if jobs, err := f.List(t.Context(), queue.Filter{States: []queue.State{queue.StateReady}}); err != nil || len(jobs) != 4 {
		t.Errorf("listed as ready: %d, %v", len(jobs), err)
	}
	if got := len(f.claims(want("a", 9, queue.Rule{}))); got != 4 {
		t.Errorf("claimed %d", got)
	}
}

func TestUnknownsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	f.claimOne("a", queue.Rule{})
	if err := f.Pause(t.Context(), "b", false); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("resume of a kind that never was: %v", err)
	}
	if m, err := f.Metrics(t.Context()); err != nil || len(m.Kinds) != 1 {
		t.Errorf("kinds: %v, %v", m.Kinds, err)
	}
	for _, fence := range []int64{-1, 2} {
		if err := f.Note(t.Context(), 1, fence, "late"); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("note on fence %d: %v", fence, err)
		}
	}
	if err := f.Note(t.Context(), 1, 1, "late"); err != nil {
		t.Error(err)
	}
}

// A kind is paused before its first job: nobody gets that one either.
func TestPauseBeforeTheFirstJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 2 {
		if err := f.Pause(t.Context(), "a", true); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := f.Metrics(t.Context()); err != nil || len(m.Kinds) != 1 || !m.Kinds["a"].Paused {
		t.Errorf("metrics: %+v, %v", m, err)
	}
	f.add(newJob("a", "1"))
	if got := f.claims(want("a", 1, queue.Rule{})); len(got) != 0 {
		t.Errorf("claimed %d jobs of a paused kind", len(got))
	}
	if err := f.Pause(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	f.claimOne("a", queue.Rule{})
}

// Lists that take long do not keep whoever hands out jobs waiting.
func TestAgendaHasItsOwnPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	release := f.TakeReaders()
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // only if it fails
	defer cancel()
	if a, err := f.Agenda(ctx, []string{"a"}); err != nil || a.Ready["a"] != 1 {
		t.Errorf("agenda: %+v, %v", a, err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	stop(why)
	if _, err := f.Get(ctx, queue.Ref{ID: 1}); !errors.Is(err, why) {
		t.Errorf("get: %v", err)
	}
}

// A read that is interrupted says why; so does one that waits for a lock.
func TestReadsEndWithTheirCause(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	why := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	if err := f.ReadUntil(ctx, func() { stop(why) }); !errors.Is(err, why) {
		t.Errorf("interrupted: %v", err)
	}
	tries := 0
	ctx, stop = context.WithCancelCause(t.Context())
	err := sqlite.Patiently(ctx, func() error {
		if tries++; tries == 3 {
			stop(why)
		}
		return sqlite3.Error{Code: sqlite3.ErrBusy}
	})
	if !errors.Is(err, why) || tries != 3 {
		t.Errorf("waiting: %v after %d tries", err, tries)
	}
}

// SQLite finds what it is asked for by the indexes that are there for it.
func TestQueriesUseTheirIndexes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := raw(t, f.Path())
	for query, want := range sqlite.Queries() {
		rows, err := db.Query(`EXPLAIN QUERY PLAN `+query, 1, 1, 1, 1, 1, 1, 1, 1)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		var got []string // its searches and scans of tables
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(detail, "SCAN ") && !strings.Contains(detail, "(subquery") && !strings.Contains(detail, "VIRTUAL TABLE") {
				t.Errorf("%s\nreads all: %s", query, detail)
			}
			got = append(got, detail)
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		_ = rows.Close()
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s\nis not found by %q:\n%s", query, w, strings.Join(got, "\n"))
			}
		}
	}
}
