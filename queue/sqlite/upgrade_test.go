package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func TestUpgradeKeepsEverything(t *testing.T) {
	t.Parallel()
	path := version1(t)
	before := allRows(t, path)
	c := afterwards()
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: c, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	if v := versionOf(t, path); v != 2 {
		t.Errorf("version %d", v)
	}
	sameContents(t, "brought up to date", allRows(t, path), before)
	sound(t, path)
	backups := backupsOf(t, path)
	if len(backups) != 1 || !regexp.MustCompile(`^bailiff\.db\.v1-20261130T0300[0-9]{2}\.[0-9]{3}Z\.backup$`).MatchString(filepath.Base(backups[0])) {
		t.Fatalf("backups: %v", backups)
	}
	if v := versionOf(t, backups[0]); v != 1 {
		t.Errorf("backup of version %d", v)
	}
	sameContents(t, "backup", allRows(t, backups[0]), before)
	if e, err := q.Enqueue(t.Context(), newJob("mail", "new")); err != nil || e.Job.ID != 41 {
		t.Errorf("the next id: %d, %v", e.Job.ID, err)
	}
}

func TestUpgradedEngineAnswersAsBefore(t *testing.T) {
	t.Parallel()
	path, answers := version1(t), version1Answers(t)
	c := afterwards()
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: c, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = q.Close() }()
	if len(answers.Jobs) < 10 {
		t.Fatalf("only %d jobs were answered", len(answers.Jobs))
	}
	for _, want := range answers.Jobs {
		got, err := q.Get(t.Context(), queue.Ref{ID: want.Job.ID})
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Payload) != want.Payload {
			t.Errorf("payload of %d: %s", got.ID, got.Payload)
		}
		got.Payload = nil
		if want.Job.NamedAttempts == 0 && want.Job.Fence == 0 {
			want.Job.MaxAttempts = 0 // which version 1 did not tell from the default
		}
		// When a lease ends is told by a clock that has moved on.
		got.LeaseExpiresAt, want.Job.LeaseExpiresAt = time.Time{}, time.Time{}
		equalJSON(t, got, want.Job)
		history, err := q.History(t.Context(), got.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		equalJSON(t, history, want.History)
		again := queue.NewJob{Kind: got.Kind, Key: got.Key, Payload: jsontext.Value(want.Payload), MaxAttempts: got.NamedAttempts}
		if e, err := q.Enqueue(t.Context(), again); err != nil || e.Created || e.Job.ID != got.ID {
			t.Errorf("%s/%s enqueued again: %+v, %v", got.Kind, got.Key, e, err)
		}
		again.Payload = jsontext.Value(`"another"`)
		if _, err := q.Enqueue(t.Context(), again); !errors.Is(err, queue.ErrConflict) {
			t.Errorf("%s/%s with another payload: %v", got.Kind, got.Key, err)
		}
	}
	pruned := queue.NewJob{Kind: "mail", Key: "pruned", Payload: jsontext.Value(answers.Jobs[0].Payload), MaxAttempts: 3}
	if e, err := q.Enqueue(t.Context(), pruned); err != nil || !e.Pruned || e.Job.ID != 17 {
		t.Errorf("a pruned key again: %+v, %v", e, err)
	}
	hour := time.Hour
	for _, s := range []struct {
		key    string
		id     int64
		o      queue.Outcome
		state  queue.State
		replay bool
		lost   bool
	}{
		{"done", 1, queue.Outcome{Is: queue.RunDone, Result: jsontext.Value(`{"sum":12345678901234567890}`)}, queue.StateDone, true, false},
		{"done", 1, queue.Outcome{Is: queue.RunDone}, "", false, true},
		{"retry", 2, queue.Outcome{Is: queue.RunRetry, Reason: "the server said 451", After: &hour}, queue.StateScheduled, true, false},
		{"stranger", 15, queue.Outcome{Is: queue.RunDone}, queue.StateDone, false, false},
		{"own", 13, queue.Outcome{Is: queue.RunDone}, "", false, true},
	} {
		token, err := queue.ParseToken(answers.Tokens[s.key])
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Settle(t.Context(), queue.Settlement{ID: s.id, Token: token, Outcome: s.o})
		if got.State != s.state || got.Replay != s.replay || errors.Is(err, queue.ErrLeaseLost) != s.lost || err != nil && !s.lost {
			t.Errorf("settled with the token %s: %+v, %v", s.key, got, err)
		}
	}
	if expired, err := q.Expire(t.Context()); err != nil || len(expired) != 2 {
		t.Errorf("expired: %+v, %v", expired, err)
	}
	sound(t, path)
}

func equalJSON(t *testing.T, got, want any) {
	t.Helper()
	a, err1 := json.Marshal(got, json.Deterministic(true))
	b, err2 := json.Marshal(want, json.Deterministic(true))
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("got  %s\nwant %s\n%v", a, b, err)
	}
}

// asVersion1 fails the test if the database is not as version 1 left it.
func asVersion1(t *testing.T, path string, before map[string][]string) {
	t.Helper()
	if v := versionOf(t, path); v != 1 {
		t.Errorf("the schema has version %d", v)
	}
	sameContents(t, "refused", allRows(t, path), before)
	if backups := backupsOf(t, path); len(backups) > 0 {
		t.Errorf("backups: %v", backups)
	}
}

func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	living := clock.NewFake(start)
	living.Advance(time.Second)
	for name, c := range map[string]struct {
		clock   queue.Clock
		refuse  bool   // not told to migrate
		meddle  string // done while leases are watched
		late    bool   // done when the watch has just ended
		want    error
		message string
	}{
		"nobody said so":         {clock: afterwards(), refuse: true, want: queue.ErrNotOurs, message: `"bailiff run" brings it up to date`},
		"a lease of this boot":   {clock: living, want: queue.ErrBusy, message: "w1 works on job 13, its lease ends in 1."},
		"another boot renews":    {clock: afterwards(), meddle: `UPDATE leases SET deadline_mono = deadline_mono + 1 WHERE job_id = 15`, want: queue.ErrBusy, message: "w3 works on job 15 and keeps its lease"},
		"another boot claims":    {clock: afterwards(), meddle: `UPDATE leases SET fence = fence + 1 WHERE job_id = 15`, want: queue.ErrBusy, message: "w3 works on job 15"},
		"one renews late":        {clock: afterwards(), meddle: `UPDATE leases SET deadline_mono = deadline_mono + 1 WHERE job_id = 15`, late: true, want: queue.ErrBusy, message: "w3 works on job 15"},
		"a row refers to nobody": {clock: afterwards(), meddle: `DELETE FROM workers WHERE name = 'w2'`, want: queue.ErrNotOurs, message: "refers to one of workers that is not there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := version1(t)
			var before map[string][]string
			if w, ok := c.clock.(watchClock); ok && c.meddle != "" {
				end := w.Fake.Mono() + time.Second // half of a lease
				looks, meddled := 0, false
				w.looked = func() {
					looks++
					if !meddled && (c.late && w.Fake.Mono() >= end || !c.late && looks == 3) {
						meddled = true
						mustExec(t, raw(t, path), c.meddle)
						before = allRows(t, path)
					}
				}
				c.clock = w
			} else {
				before = allRows(t, path)
			}
			q, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: c.clock, Migrate: !c.refuse})
			if err == nil {
				_ = q.Close()
			}
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.message) {
				t.Errorf("%v, want %v with %q", err, c.want, c.message)
			}
			asVersion1(t, path, before)
		})
	}
}

// Of several that start at once one brings it up to date.
func TestUpgradeByOneOfMany(t *testing.T) {
	t.Parallel()
	path := version1(t)
	before := allRows(t, path)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			q, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: afterwards(), Migrate: true})
			if err != nil {
				t.Error(err)
				return
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	sameContents(t, "by many", allRows(t, path), before)
	if backups := backupsOf(t, path); len(backups) != 1 {
		t.Errorf("backups: %v", backups)
	}
}

// Whoever dies in the midst of it leaves what was there.
func TestUpgradeSurvivesAKill(t *testing.T) {
	t.Parallel()
	path := version1(t)
	before := allRows(t, path)
	if err := child(t, "upgrade-and-die", path).Run(); err == nil {
		t.Fatal("the child lived")
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Errorf("nothing was written before the kill: %v, %v", info, err)
	}
	asVersion1(t, path, before)
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: afterwards(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	sameContents(t, "afterwards", allRows(t, path), before)
}

func init() {
	parts["upgrade-and-die"] = func(_ context.Context, path string) error {
		if err := sqlite.BeginUpgrade(path); err != nil {
			return err
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// A program that runs while a newer one changes the schema writes nothing more.
func TestNewerSchemaEndsTheQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	mustExec(t, raw(t, f.Path()), `PRAGMA user_version = 99`)
	_, err := f.Enqueue(t.Context(), newJob("a", "2"))
	if !errors.Is(err, queue.ErrNotOurs) || !errors.Is(err, queue.ErrClosed) ||
		!strings.Contains(err.Error(), "a newer bailiff brought the schema to version 99: start this one anew") {
		t.Errorf("enqueue: %v", err)
	}
	if _, err := f.Get(t.Context(), queue.Ref{ID: 1}); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("get: %v", err)
	}
	mustExec(t, raw(t, f.Path()), `PRAGMA user_version = 2`)
}

func TestSnapshotIsNoQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	mustExec(t, raw(t, f.Path()), `UPDATE queue SET snapshot_at = ?`, start.UnixMilli())
	_, err := sqlite.Open(t.Context(), f.Path(), f.options())
	if !errors.Is(err, queue.ErrNotOurs) || !strings.Contains(err.Error(), "snapshot of 2026-11-30T03:00:00Z: bailiff restore ") {
		t.Error(err)
	}
}
