package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// refusesPlace checks that a database is not opened, and what is said.
func refusesPlace(t testing.TB, path string, words ...string) {
	t.Helper()
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err == nil {
		_ = q.Close()
	}
	if !errors.Is(err, queue.ErrNotOurs) {
		t.Errorf("got %v, want not ours", err)
		return
	}
	if strings.Contains(err.Error(), queue.ErrNotOurs.Error()) {
		t.Errorf("%v says what is not so", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v does not say %q", err, w)
		}
	}
}

// opensAt checks that a database is opened, and answers what the log tells.
func opensAt(t testing.TB, path string) string {
	t.Helper()
	var log safeBuffer
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
	if err != nil {
		t.Error(err)
		return ""
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	return log.String()
}

func link(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

// Two names are two logs.
func TestDatabaseWithTwoNamesIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "q.db")
	newDatabase(t, path)
	other := filepath.Join(t.TempDir(), "other.db")
	link(t, path, other)
	refusesPlace(t, path, "2 names (hard links)", "-samefile "+path)
	refusesPlace(t, other, "2 names (hard links)")
	remove(t, other)
	opensAt(t, path)
}

// A symbolic link is no second name: the log is that of the file.
func TestDatabaseBehindASymbolicLinkIsTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	alias := filepath.Join(t.TempDir(), "alias.db")
	if err := os.Symlink(f.Path(), alias); err != nil {
		t.Fatal(err)
	}
	q := f.open(alias)
	if q.Path() != f.Path() {
		t.Errorf("%s and %s", q.Path(), f.Path())
	}
	f.add(newJob("a", "1"))
	if _, err := q.Get(t.Context(), queue.Ref{Kind: "a", Key: "1"}); err != nil {
		t.Error(err)
	}
}

// The names that a backup or a restore leaves when it is killed in the midst of
// naming the file are taken off it; only those, and only where the file has no
// other.
func TestNamesThatWereLeftAreRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "q.db")
	newDatabase(t, path)
	folder := filepath.Dir(path)
	left := filepath.Join(folder, ".q.db.bailiff-restore-0123abcd")
	there := func(name string) bool {
		_, err := os.Lstat(name)
		return err == nil
	}

	link(t, path, left)
	link(t, path, path+".mine")
	refusesPlace(t, path, "2 names (hard links)")
	if !there(left) {
		t.Error("a name was removed from a database that was refused")
	}
	remove(t, path+".mine")

	link(t, path, filepath.Join(folder, ".other.db.bailiff-restore-0123abcd"))
	refusesPlace(t, path, "2 names (hard links)")
	remove(t, filepath.Join(folder, ".other.db.bailiff-restore-0123abcd"))

	unrelated := filepath.Join(folder, ".q.db.bailiff-partial-0123abcd")
	if err := os.WriteFile(unrelated, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if log := opensAt(t, path); !strings.Contains(log, "removed a second name") || !strings.Contains(log, left) {
		t.Errorf("the log does not tell of it: %q", log)
	}
	if there(left) || !there(unrelated) {
		t.Errorf("the second name is there: %v; another file is there: %v", there(left), there(unrelated))
	}
	if log := opensAt(t, path); log != "" {
		t.Errorf("afterwards: %q", log)
	}
}
