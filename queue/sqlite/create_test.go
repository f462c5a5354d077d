package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func TestCreateReplacesNothing(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"", "-wal", "-shm", "-journal", "-reserve"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "q.db")
		if err := os.WriteFile(path+side, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := sqlite.Create(t.Context(), path, sqlite.Options{})
		if !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), path+side) {
			t.Errorf("%q: %v, want a conflict that names the file", side, err)
		}
		entries, _ := os.ReadDir(dir)
		if b, _ := os.ReadFile(path + side); string(b) != "mine" || len(entries) != 1 {
			t.Errorf("%q: the file is %q beside %d others", side, b, len(entries)-1)
		}
	}
	if err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "no", "q.db"), sqlite.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its folder: %v", err)
	}
}

func TestCreateLeavesOneFileOfItsOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "odd name?#%41.db")
	if err := sqlite.Create(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "odd name?#%41.db" {
		t.Fatalf("entries: %v, %v", entries, err)
	}
	if info, _ := entries[0].Info(); info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if q.Path() != path {
		t.Errorf("path %s", q.Path())
	}
	if _, err := q.Enqueue(t.Context(), newJob("a", "1")); err != nil {
		t.Error(err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if err := q.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

func TestOpenRefusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := file("foreign.db", "")
	mustExec(t, raw(t, foreign), `CREATE TABLE t (a); INSERT INTO t VALUES (1)`)
	newer := filepath.Join(dir, "newer.db")
	if err := sqlite.Create(t.Context(), newer, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	mustExec(t, raw(t, newer), `PRAGMA user_version = 999`)
	text := strings.Repeat("no database at all. ", 100)
	for name, c := range map[string]struct {
		path string
		want error
	}{
		"missing":  {filepath.Join(dir, "missing.db"), queue.ErrNotFound},
		"a folder": {dir, queue.ErrNotOurs},
		"empty":    {file("empty.db", ""), queue.ErrNotOurs},
		"a text":   {file("text.db", text), queue.ErrNotOurs},
		"foreign":  {foreign, queue.ErrNotOurs},
		"newer":    {newer, queue.ErrNotOurs},
		"cut":      {file("cut.db", "SQLite format 3\x00"), queue.ErrNotOurs},
	} {
		before, _ := os.ReadFile(c.path)
		if q, err := sqlite.Open(t.Context(), c.path, sqlite.Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, q, err, c.want)
		}
		after, _ := os.ReadFile(c.path)
		if !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", name)
		}
		for _, side := range []string{"-wal", "-shm", "-journal"} {
			if _, err := os.Lstat(c.path + side); err == nil && name != "newer" {
				t.Errorf("%s: there is a %s file now", name, side)
			}
		}
	}
}

func TestOpenFollowsLinksToOneFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(f.Path(), link); err != nil {
		t.Fatal(err)
	}
	other := f.open(link)
	if other.Path() != f.Path() {
		t.Errorf("path %s, want %s", other.Path(), f.Path())
	}
	f.add(newJob("a", "1"))
	if _, err := other.Get(t.Context(), queue.Ref{ID: 1}); err != nil {
		t.Error(err)
	}
}

func TestClosedQueueRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	changes, err := f.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for range changes { // ends with the queue
	}
	_, enqueue := f.Enqueue(t.Context(), newJob("a", "1"))
	_, get := f.Get(t.Context(), queue.Ref{ID: 1})
	_, watch := f.Changes(t.Context())
	for name, err := range map[string]error{"enqueue": enqueue, "get": get, "changes": watch} {
		if !errors.Is(err, queue.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The schema as the migrations make it, for the eye of whoever reviews one.
func TestSchemaIsAsReviewed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows, err := raw(t, f.Path()).Query(`SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var got strings.Builder
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		got.WriteString(s + ";\n\n")
	}
	const golden = "testdata/schema.golden.sql"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the schema differs from %s; if that is meant: UPDATE_GOLDEN=1 go test ./queue/sqlite", golden)
	}
}

func TestWordsInTheFileAreThoseOfTheRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := raw(t, f.Path())
	for table, want := range sqlite.Words() {
		got := map[string]int64{}
		rows, err := db.Query(`SELECT word, code FROM ` + table)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var word string
			var code int64
			if err := rows.Scan(&word, &code); err != nil {
				t.Fatal(err)
			}
			got[word] = code
		}
		_ = rows.Close()
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", table, got, want)
		}
		for word, code := range want {
			if got[word] != code {
				t.Errorf("%s: %q is %d, want %d", table, word, got[word], code)
			}
		}
	}
	for _, s := range queue.States() {
		if sqlite.Words()["state_word"][string(s)] == 0 {
			t.Errorf("no code for state %s", s)
		}
	}
	for _, e := range queue.Events() {
		if sqlite.Words()["event_word"][string(e)] == 0 {
			t.Errorf("no code for event %s", e)
		}
	}
}

// People look with the sqlite3 shell too.
func TestViewsSpeakInWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("1", queue.StateDead)
	db := raw(t, f.Path())
	var kind, key, state, due, event, at string
	if err := db.QueryRow(`SELECT kind, key, state, available_at FROM job_view`).Scan(&kind, &key, &state, &due); err != nil {
		t.Fatal(err)
	}
	if err := db.QueryRow(`SELECT event, at FROM history_view ORDER BY seq DESC`).Scan(&event, &at); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join([]string{kind, key, state, due, event, at}, " "); got != "a 1 dead 2026-11-30T03:00:00.000Z dead 2026-11-30T03:00:00.000Z" {
		t.Error(got)
	}
}

// After a kill no byte of an accepted job may be missing.
func TestAcceptedSurvivesAKill(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.Path()
	cmd := child(t, "enqueue-and-die", path)
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child was not killed: %v", err)
	}
	if job := f.get(1); job.Key != "last words" || string(job.Payload) != `{"n":1}` {
		t.Errorf("job: %+v", job)
	}
}

// madeClock is asked for the time while a database is being made.
type madeClock struct {
	queue.Clock
	asked func()
}

func (c madeClock) Now() time.Time {
	c.asked()
	return c.Clock.Now()
}

// While a database is made nobody in this process looks at its file: closing it
// again would drop the locks of whoever makes it.
func TestCreateKeepsOthersFromLooking(t *testing.T) {
	t.Parallel()
	asked := false
	c := madeClock{Clock: clock.NewFake(start), asked: func() {
		asked = true
		if !sqlite.FilesAreBeingMade() {
			t.Error("another goroutine could look at the file")
		}
	}}
	if err := sqlite.Create(t.Context(), filepath.Join(t.TempDir(), "q.db"), sqlite.Options{Clock: c}); err != nil {
		t.Fatal(err)
	}
	if !asked {
		t.Error("the clock was not asked")
	}
}
