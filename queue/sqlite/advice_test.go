package sqlite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue/sqlite"
)

// What is advised can be pasted, whatever the folder is called.
func TestAdviceIsForAShell(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), `it's "$HOME" & more`)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "q.db")
	newDatabase(t, path)
	mustExec(t, raw(t, path), `INSERT INTO kinds (name) VALUES ('a'); INSERT INTO counts (kind_id, state, n) VALUES (1, 2, 7)`)
	left := filepath.Join(dir, ".q.db.bailiff-partial-0123abcd")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	examine := func() sqlite.Report {
		r, err := sqlite.Examine(t.Context(), path, sqlite.Options{}, sqlite.Known{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	says := func(command string, want ...string) {
		t.Helper()
		const stubs = `rm() { printf '%s\n' "$@"; }; find() { shift 3; rm "$@"; }; fuser() { rm "$@"; }; sqlite3() { rm "$1"; }; bailiff() { rm "$@"; }; `
		out, err := exec.Command("sh", "-c", stubs+command).CombinedOutput()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%s\ngot %q, %v, want %q", command, got, err, want)
		}
	}
	r := examine()
	remove, _, _ := strings.Cut(adviceOn(r, "left-overs"), " (the next")
	says(remove, left)
	says(adviceOn(r, "counts")[strings.Index(adviceOn(r, "counts"), "sqlite3 "):], path)

	if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path+"-wal", 64<<20+1); err != nil {
		t.Fatal(err)
	}
	_, look, _ := strings.Cut(adviceOn(examine(), "side files"), "(")
	look, _, _ = strings.Cut(look, ");")
	says(look, "-v", path)

	link(t, path, filepath.Join(dir, "second.db"))
	where := wrong(examine())["place"]
	where, _, _ = strings.Cut(where[strings.Index(where, "find "):], " shows them")
	says(where, path)
}
