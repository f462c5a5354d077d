package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// wrong are the details of what is not as it should be, by the name of the check.
func wrong(r sqlite.Report) map[string]string {
	list := map[string]string{}
	for _, f := range r.Findings {
		if !f.OK {
			list[f.Check] = f.Detail
		}
	}
	return list
}

// examines looks at the database, which must be possible.
func (f *fixture) examines(path string) sqlite.Report {
	f.Helper()
	r, err := sqlite.Examine(f.Context(), path, f.options(), sqlite.Known{})
	if err != nil {
		f.Fatal(err)
	}
	return r
}

func TestExamineFindsNothingWrong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, state := range queue.States() {
		f.brings("key-"+string(state), state)
	}
	release := holds(t, f.Path()) // no write lock is needed
	open := f.examines(f.Path())
	release()
	if got := wrong(open); len(got) != 0 {
		t.Errorf("in use: %v", got)
	}
	to, _ := f.restores(f.backs().Path)
	if got := wrong(f.examines(to.Path())); len(got) != 0 {
		t.Errorf("restored: %v", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := wrong(f.examines(f.Path())); len(got) != 0 {
		t.Errorf("closed: %v", got)
	}
	if len(open.Findings) < 15 || open.Path != f.Path() {
		t.Errorf("%s: %d findings", open.Path, len(open.Findings))
	}
}

func TestExamineFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ check, detail, change string }{
		{"counts", "a: 1 ready, counted as 7", `UPDATE counts SET n = 7 WHERE state = 2`},
		{"counts", "a: 0 done, counted as 3", `INSERT INTO counts VALUES (1, 4, 3)`},
		{"leases", "job 2 is leased, by nobody", `DELETE FROM leases`},
		{"leases", "job 2 is leased, by nobody", `UPDATE leases SET fence = 99`},
		{"leases", "a lease stands on job 1, which is not leased", `INSERT INTO leases SELECT 1, fence, token, worker_id, boot_id, length, deadline_mono, expires_mono, uncertain, attempt_limit, handler_id, guardian, start, claimed_at FROM leases`},
		{"history", "job 2 lacks entries", `DELETE FROM history WHERE job_id = 2 AND seq = 1`},
		{"history", "job 1 has none", `DELETE FROM history WHERE job_id = 1`},
		{"history", "job 1 has no beginning", `UPDATE history SET event = 13 WHERE job_id = 1`},
		{"history", "job 2: it leads elsewhere", `UPDATE history SET to_state = 5 WHERE job_id = 2 AND seq = 2`},
		{"payloads", "job 1 has none", `DELETE FROM job_data WHERE job_id = 1`},
		{"ids", "job 2 exists or did, and the next would be 2", `UPDATE sqlite_sequence SET seq = 1 WHERE name = 'jobs'`},
		{"keys", "job 1 has the key of job 77, which was pruned", `INSERT INTO remembered SELECT kind_id, key, 77, zeroblob(16), 0, 4, 0 FROM jobs WHERE id = 1; UPDATE sqlite_sequence SET seq = 77`},
		{"foreign keys", "a row of jobs refers to one of kinds that is not there", `PRAGMA foreign_keys = OFF; UPDATE jobs SET kind_id = 9 WHERE id = 1; UPDATE counts SET kind_id = 9 WHERE state = 2`},
	} {
		t.Run(c.check, func(t *testing.T) {
			t.Parallel()
			f := &fixture{TB: t, clock: clock.NewFake(start)}
			path := filepath.Join(t.TempDir(), "q.db")
			if err := sqlite.Create(t.Context(), path, f.options()); err != nil {
				t.Fatal(err)
			}
			f.Queue = f.open(path)
			f.brings("ready", queue.StateReady)
			f.brings("leased", queue.StateLeased)
			mustExec(t, raw(t, path), c.change)
			got := wrong(f.examines(path))
			if got[c.check] == "" || !strings.Contains(got[c.check], c.detail) {
				t.Errorf("found %v, want %q", got, c.detail)
			}
		})
	}
}

func TestExamineCountsWhatItDoesNotShow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 10 {
		if err := f.enqueues(t.Context(), i, 10); err != nil {
			t.Fatal(err)
		}
	}
	db := raw(t, f.Path())
	mustExec(t, db, `CREATE TEMP TABLE kept AS SELECT * FROM job_data`)
	mustExec(t, db, `DELETE FROM job_data`)
	got := wrong(f.examines(f.Path()))["payloads"]
	mustExec(t, db, `INSERT INTO job_data SELECT * FROM kept`)
	if got != "job 1 has none; job 2 has none; job 3 has none; and 7 more" {
		t.Errorf("found %q", got)
	}
}

func TestExamineFindsLeasesThatAreOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("leased", queue.StateLeased)
	f.clock.Advance(time.Minute)
	r := f.examines(f.Path())
	if got := wrong(r)["overdue leases"]; !strings.HasPrefix(got, "1 leases are over, one for 49s") {
		t.Errorf("found %v", wrong(r))
	}
}

func TestExamineTellsOfDamage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 20 {
		if err := f.enqueues(t.Context(), i, 2000); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "damaged.db")
	damagedCopy(t, f, path)
	if got := wrong(f.examines(path)); !strings.HasPrefix(got["integrity"], "it is damaged: sqlite: ") || !strings.Contains(got["integrity"], "malformed") {
		t.Errorf("a damaged page: %v", got)
	}
	if _, err := sqlite.Examine(t.Context(), filepath.Join(dir, "none.db"), f.options(), sqlite.Known{}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("no file: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Examine(ctx, path, f.options(), sqlite.Known{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestExamineFindsWhatIsBesideIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := filepath.Dir(f.Path())
	left := filepath.Join(dir, ".snapshot.db.bailiff-partial-0123abcd")
	if err := os.WriteFile(left, []byte(strings.Repeat("x", 2048)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r := f.examines(f.Path())
	if got := wrong(r)["left-overs"]; got != "1 files of backups or restores that did not end, 2.0 KiB" {
		t.Errorf("found %v", wrong(r))
	}
	if got := adviceOn(r, "left-overs"); got != "rm "+left {
		t.Errorf("advice about what a backup does not take for its own: %s", got)
	}
	if err := os.Truncate(left, 0); err != nil {
		t.Fatal(err)
	}
	if got := adviceOn(f.examines(f.Path()), "left-overs"); got != "rm "+left+" (the next backup or restore here does so)" {
		t.Errorf("advice: %s", got)
	}
	journal := f.Path() + "-journal"
	if err := os.WriteFile(journal, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := wrong(f.examines(f.Path()))["side files"]; !strings.HasPrefix(got, journal) {
		t.Errorf("found %q", got)
	}
	if err := os.Remove(journal); err != nil {
		t.Fatal(err)
	}
}
