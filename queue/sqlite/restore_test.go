package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// restores makes a queue of a snapshot in a folder of its own, which must succeed,
// and opens it.
func (f *fixture) restores(snapshot string) (*fixture, queue.Restored) {
	f.Helper()
	path := filepath.Join(f.TempDir(), "restored.db")
	r, err := sqlite.Restore(f.Context(), snapshot, path, f.options(), nil)
	if err != nil {
		f.Fatal(err)
	}
	if got := names(f, filepath.Dir(path)); len(got) != 1 {
		f.Errorf("in the folder: %v", got)
	}
	f.Cleanup(func() { sound(f, path) })
	return &fixture{TB: f.TB, clock: f.clock, Queue: f.open(path)}, r
}

// events are those of a job's history, oldest first.
func (f *fixture) events(id int64) (list []queue.Entry) {
	f.Helper()
	list, err := f.History(f.Context(), id, 0)
	if err != nil {
		f.Fatal(err)
	}
	return list
}

func TestRestoredJobsInEachState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	refs := map[queue.State]queue.Ref{}
	for _, state := range queue.States() {
		refs[state] = f.brings("key-"+string(state), state)
	}
	before := map[queue.State]queue.Job{}
	for state, ref := range refs {
		before[state] = f.get(ref.ID)
	}
	f.clock.Advance(time.Hour)
	b := f.backs()
	f.clock.Advance(time.Hour)
	to, r := f.restores(b.Path)
	if r.Quarantined != 3 || r.SHA256 != b.SHA256 || !r.TakenAt.Equal(b.TakenAt) || r.Snapshot != b.Path || r.Path != to.Path() ||
		r.Jobs != (queue.Counts{Done: 1, Dead: 1, Quarantined: 4, Cancelled: 1}) {
		t.Errorf("receipt: %+v", r)
	}
	for state, ref := range refs {
		was, is := before[state], to.get(ref.ID)
		history := to.events(ref.ID)
		last := history[len(history)-1]
		_, allowed := queue.Allowed(state, queue.EventRestore)
		if (allowed == nil) != (last.Event == queue.EventRestore) {
			t.Errorf("%s: the history ends with %+v", state, last)
		}
		switch {
		case allowed != nil:
			if is.State != state || !is.UpdatedAt.Equal(was.UpdatedAt) || !is.FinishedAt.Equal(was.FinishedAt) {
				t.Errorf("%s: %+v", state, is)
			}
		case is.State != queue.StateQuarantined || last.From != state || last.To != queue.StateQuarantined || last.Fence != is.Fence ||
			!last.At.Equal(f.clock.Now()) || !strings.Contains(last.Detail, "snapshot of 2026-11-30T04:00:00Z") || is.LastError != last.Detail ||
			!is.ExternalEffectsPossible || !is.UpdatedAt.Equal(f.clock.Now()):
			t.Errorf("%s: %+v, %+v", state, is, last)
		}
		if (state == queue.StateLeased) != (last.Worker == "w1" && last.Event == queue.EventRestore) {
			t.Errorf("%s: the worker is %q", state, last.Worker)
		}
		if is.IdempotencyKey != was.IdempotencyKey || is.Attempt != was.Attempt || string(is.Payload) != string(was.Payload) {
			t.Errorf("%s: %+v", state, is)
		}
		if least := max(was.Fence+1<<32, f.clock.Now().UnixMilli()); is.Fence < least || is.Fence >= least+1<<31 {
			t.Errorf("%s: fence %d, from %d", state, is.Fence, was.Fence)
		}
		if is.NeedsReview != (state != queue.StateDone) {
			t.Errorf("%s: needs review: %v", state, is.NeedsReview)
		}
		_, err := to.Requeue(t.Context(), ref, queue.Requeue{})
		if !errors.Is(err, queue.ErrConflict) {
			t.Errorf("%s: requeued unreviewed: %v", state, err)
		}
		if _, err := to.Requeue(t.Context(), ref, queue.Requeue{Reviewed: true}); (err == nil) != (state != queue.StateDone) {
			t.Errorf("%s: requeued as reviewed: %v", state, err)
		}
	}
}

func TestRestoredQueueGivesOutNothingTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("done", queue.StateDone)
	f.add(newJob("a", "leased"))
	held := f.claimOne("a", queue.Rule{})
	settled := f.add(newJob("a", "settled"))
	ended := f.claimOne("a", queue.Rule{})
	outcome := queue.Outcome{Is: queue.RunDone}
	f.settles(ended, outcome)
	b := f.backs()
	first, r1 := f.restores(b.Path)
	second, r2 := f.restores(b.Path)
	for _, to := range []*fixture{first, second} {
		if c := to.claims(want("a", 10, queue.Rule{})); len(c) != 0 {
			t.Errorf("claimed: %+v", c)
		}
		for _, old := range []queue.Claimed{held, ended} {
			_, err := to.Settle(t.Context(), queue.Settlement{ID: old.Job.ID, Token: old.Lease.Token, Outcome: outcome})
			if !errors.Is(err, queue.ErrLeaseLost) {
				t.Errorf("an old token settled job %d: %v", old.Job.ID, err)
			}
		}
		again, err := to.Enqueue(t.Context(), newJob("a", "settled"))
		if err != nil || again.Created || again.Job.ID != settled.ID || again.Job.State != queue.StateDone {
			t.Errorf("the same key again: %+v, %v", again, err)
		}
	}
	if r1.NextID != settled.ID+1_000_000 || r2.NextID != r1.NextID {
		t.Errorf("next ids %d, %d", r1.NextID, r2.NextID)
	}
	if r1.FenceFloor < f.clock.Now().UnixMilli() || r1.FenceFloor == r2.FenceFloor {
		t.Errorf("floors %d, %d", r1.FenceFloor, r2.FenceFloor)
	}
	if first.get(held.Job.ID).Fence == second.get(held.Job.ID).Fence {
		t.Error("two restores have the same fences")
	}
	job := first.add(newJob("a", "new"))
	if job.ID != r1.NextID {
		t.Errorf("the new job has the id %d", job.ID)
	}
	if c := first.claimOne("a", queue.Rule{}); c.Job.ID != job.ID || c.Job.Fence != r1.FenceFloor+1 {
		t.Errorf("claimed %+v above %d", c.Job, r1.FenceFloor)
	}
	// And once more: every number rises again.
	third, r3 := first.restores(first.backs().Path)
	if r3.FenceFloor < r1.FenceFloor+1<<32 || r3.NextID != job.ID+1_000_000 || third.get(job.ID).Fence < r1.FenceFloor+1+1<<32 {
		t.Errorf("a restored queue restored: %+v", r3)
	}
}

func TestRestoreReplacesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("1", queue.StateReady)
	b := f.backs()
	for _, side := range []string{"", "-wal", "-shm", "-journal", "-reserve"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "q.db")
		if err := os.WriteFile(path+side, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := sqlite.Restore(t.Context(), b.Path, path, f.options(), nil)
		if !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), path+side+" is in the way") {
			t.Errorf("%q: %v, want a conflict that names the file", side, err)
		}
		if b, _ := os.ReadFile(path + side); string(b) != "mine" || len(names(t, dir)) != 1 {
			t.Errorf("%q: the file is %q among %v", side, b, names(t, dir))
		}
	}
	for _, path := range []string{b.Path, f.Path()} {
		if _, err := sqlite.Restore(t.Context(), b.Path, path, f.options(), nil); !errors.Is(err, queue.ErrConflict) {
			t.Errorf("onto %s: %v", path, err)
		}
	}
	if f.get(1).State != queue.StateReady {
		t.Error("the live queue was changed")
	}
}

func TestRestoreRefusesADatabaseInUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("1", queue.StateReady)
	target := filepath.Join(t.TempDir(), "new.db")
	refused := func(what, path string) {
		t.Helper()
		_, err := sqlite.Restore(t.Context(), path, target, f.options(), nil)
		if !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), "no snapshot but a database in use: bailiff backup makes a snapshot of it") {
			t.Errorf("%s: %v", what, err)
		}
		if got := names(t, filepath.Dir(target)); len(got) != 0 {
			t.Errorf("%s: left %v", what, got)
		}
	}
	refused("open here", f.Path())

	b := f.backs()
	for _, side := range []string{"-wal", "-journal"} {
		if err := os.WriteFile(b.Path+side, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused("beside "+side, b.Path)
		if err := os.Remove(b.Path + side); err != nil {
			t.Fatal(err)
		}
	}

	// Nothing stands in its log: it is SQLite's lock that tells.
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "race", f.Path())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	refused("open in another process", f.Path())
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	// Nobody has it open, and nothing is beside it: so does a copy of one in use look.
	if _, err := sqlite.Restore(t.Context(), f.Path(), filepath.Join(t.TempDir(), "new.db"), f.options(), nil); !errors.Is(err, sqlite.ErrUnsealed) || !errors.Is(err, queue.ErrNotOurs) {
		t.Errorf("a closed database: %v", err)
	}
	if content, _ := os.ReadFile(f.Path()); content[18] != 2 || slices.Contains(names(t, filepath.Dir(f.Path())), "q.db-wal") {
		t.Errorf("it was changed, or what is beside it: %v", names(t, filepath.Dir(f.Path())))
	}
}

func TestRestoreRefusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	snapshot, err := os.ReadFile(f.backs().Path)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(snapshot)
	newer[63] = 99 // user_version
	foreign := filepath.Join(dir, "foreign.db")
	mustExec(t, rawNew(t, foreign), `CREATE TABLE t (a)`)
	target := filepath.Join(t.TempDir(), "new.db")
	for name, c := range map[string]struct {
		path string
		want error
	}{
		"missing":  {filepath.Join(dir, "missing.db"), queue.ErrNotFound},
		"a folder": {dir, queue.ErrNotOurs},
		"empty":    {file("empty.db", nil), queue.ErrNotOurs},
		"a text":   {file("text.db", bytes.Repeat([]byte("no database at all. "), 100)), queue.ErrNotOurs},
		"foreign":  {foreign, queue.ErrNotOurs},
		"newer":    {file("newer.db", newer), queue.ErrNotOurs},
		"cut":      {file("cut.db", snapshot[:len(snapshot)/2]), queue.ErrNotOurs},
		"longer":   {file("longer.db", append(bytes.Clone(snapshot), 0)), queue.ErrNotOurs},
	} {
		if _, err := sqlite.Restore(t.Context(), c.path, target, f.options(), nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if got := names(t, filepath.Dir(target)); len(got) != 0 {
			t.Errorf("%s: left %v", name, got)
		}
	}
}

// No damage to a snapshot passes, not even one that SQLite does not notice.
func TestRestoreNoticesEveryDamage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, state := range queue.States() {
		f.brings("key-"+string(state), state)
	}
	if err := f.enqueues(t.Context(), 1, 20_000); err != nil { // has pages of its own
		t.Fatal(err)
	}
	snapshot, err := os.ReadFile(f.backs().Path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, target := filepath.Join(dir, "damaged.db"), filepath.Join(dir, "new.db")
	try := func(what string, change func(content []byte)) {
		content := bytes.Clone(snapshot)
		change(content)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.Restore(t.Context(), path, target, f.options(), nil); !errors.Is(err, queue.ErrNotOurs) {
			t.Errorf("%s: %v", what, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(after, content) {
			t.Errorf("%s: the snapshot was changed", what)
		}
		if got := names(t, dir); len(got) != 1 {
			t.Errorf("%s: left %v", what, got)
		}
	}
	for page := range len(snapshot) / 4096 {
		of := func(content []byte) []byte { return content[page*4096 : (page+1)*4096] }
		try(fmt.Sprintf("page %d turned", page+1), func(content []byte) {
			for i := range of(content) {
				of(content)[i] ^= 0xff
			}
		})
		try(fmt.Sprintf("page %d empty", page+1), func(content []byte) {
			clear(of(content))
			content[len(content)-1-page]++ // an empty page may have been empty
		})
		for _, at := range []int{0, 3, 8, 17, 100, 1000, 2000, 3000, 4000, 4095} {
			try(fmt.Sprintf("byte %d of page %d", at, page+1), func(content []byte) { of(content)[at] ^= 0x11 })
		}
	}
	for at := range 100 { // SQLite's header
		try(fmt.Sprintf("byte %d", at), func(content []byte) { content[at] ^= 1 })
	}
}

// A backup of an older schema has no seal, and is as good as SQLite's own look at it:
// never a crash, and what comes to be is a queue.
func TestRestoreOfADamagedDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	content, err := os.ReadFile(version1(t))
	if err != nil {
		t.Fatal(err)
	}
	for page := range len(content) / 4096 {
		dir := t.TempDir()
		path, target := filepath.Join(dir, "damaged.db"), filepath.Join(dir, "new.db")
		turned := bytes.Clone(content)
		for i := range 4096 {
			turned[page*4096+i] ^= 0xff
		}
		if err := os.WriteFile(path, turned, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.Restore(t.Context(), path, target, f.options(), nil); err == nil {
			sound(t, target)
		} else if !errors.Is(err, queue.ErrNotOurs) || len(names(t, dir)) != 1 {
			t.Errorf("page %d: %v; %v", page+1, err, names(t, dir))
		}
	}
}

func TestRestoreOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := version1(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, r := f.restores(path)
	if !r.TakenAt.IsZero() || r.Quarantined == 0 || r.Jobs.Ready+r.Jobs.Scheduled+r.Jobs.Leased != 0 || r.Jobs.Quarantined < r.Quarantined {
		t.Errorf("receipt: %+v", r)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the older file was changed")
	}
}

func TestRestoreThatIsStoppedLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("1", queue.StateReady)
	b := f.backs()
	dir := t.TempDir()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := sqlite.Restore(ctx, b.Path, filepath.Join(dir, "new.db"), f.options(), func(int64, int64) { cancel(why) })
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// While a restore reads a file, no queue of this process opens
// it, whose locks it would drop.
func TestRestoreKeepsQueuesFromItsSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.backs().Path
	open := func() error {
		q, err := sqlite.Open(t.Context(), path, f.options())
		if err == nil {
			_ = q.Close()
		}
		return err
	}
	if _, err := sqlite.Restore(t.Context(), path, filepath.Join(t.TempDir(), "new.db"), f.options(), func(int64, int64) {
		if err := open(); !errors.Is(err, queue.ErrBusy) {
			t.Errorf("opened: %v", err)
		}
	}); err != nil {
		t.Error(err)
	}
	if err := open(); !errors.Is(err, queue.ErrNotOurs) {
		t.Errorf("afterwards: %v", err)
	}
}

// What the statements of a restore select is what the rules let it change.
func TestRestoreSpeaksTheWordsOfTheRules(t *testing.T) {
	t.Parallel()
	words := sqlite.Words()
	var may []string
	for _, state := range queue.States() {
		if _, err := queue.Allowed(state, queue.EventRestore); err == nil {
			may = append(may, fmt.Sprint(words["state_word"][string(state)]))
		}
	}
	slices.Sort(may)
	in := "state IN (" + strings.Join(may, ", ") + ")"
	if !strings.Contains(sqlite.QuarantineHistory, in) || !strings.Contains(sqlite.QuarantineJobs, in) {
		t.Errorf("not %s", in)
	}
	event, to := words["event_word"][string(queue.EventRestore)], words["state_word"][string(queue.StateQuarantined)]
	if !strings.Contains(sqlite.QuarantineHistory, fmt.Sprintf("%d, j.state, %d,", event, to)) ||
		!strings.Contains(sqlite.QuarantineJobs, fmt.Sprintf("SET state = %d,", to)) ||
		!strings.Contains(sqlite.RaiseJobs, fmt.Sprintf("CASE state WHEN %d", words["state_word"][string(queue.StateDone)])) {
		t.Error("another event or state than the rules say")
	}
}

// rawNew is another program's connection to a database that it makes.
func rawNew(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
