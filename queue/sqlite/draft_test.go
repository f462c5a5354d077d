package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// A name is given and replaces nothing, also where that takes two steps.
func TestNameIsGivenOnce(t *testing.T) {
	t.Parallel()
	linking := func(from, to string) error { return sqlite.LinkAndUnlink(from, to, os.Remove) }
	for name, give := range map[string]func(from, to string) error{"in one step": sqlite.RenameNoReplace, "by linking": linking} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		for i := range 2 {
			if err := os.WriteFile(from, fmt.Append(nil, i), 0o600); err != nil {
				t.Fatal(err)
			}
			err := give(from, to)
			if errors.Is(err, errors.ErrUnsupported) {
				break
			}
			if got := names(t, dir); i == 0 && (err != nil || len(got) != 1) || i == 1 && (!errors.Is(err, os.ErrExist) || len(got) != 2) {
				t.Errorf("%s, the time number %d: %v, %v", name, i+1, err, got)
			}
			if b, _ := os.ReadFile(to); string(b) != "0" {
				t.Errorf("%s: it was replaced by %q", name, b)
			}
		}
	}
}

// A file that has its name while the other could not be taken off it is told of.
func TestNameThatIsGivenBesideAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := sqlite.LinkAndUnlink(from, to, func(string) error { return os.ErrPermission })
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "it is there, but has the name "+from+" as well") {
		t.Errorf("got %v", err)
	}
}

// No queue of this process opens a file between its being named and its being
// closed by whoever made it. Alone, so that nobody else keeps queues from files.
func TestNameIsGivenWithNothingBetween(t *testing.T) {
	path := filepath.Join(t.TempDir(), "q.db")
	free, err := sqlite.GiveName(path)
	if err != nil || free {
		t.Errorf("free to be opened: %v, %v", free, err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// Nothing is made under a name that means what lies beside another database.
func TestNameOfASideFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	snapshot := f.backs().Path
	dir := t.TempDir()
	path := filepath.Join(dir, "q.db")
	newDatabase(t, path)
	for _, side := range []string{"-wal", "-shm", "-journal", "-reserve"} {
		_, backup := f.Backup(t.Context(), path+side, nil)
		_, restore := sqlite.Restore(t.Context(), snapshot, path+side, f.options(), nil)
		for act, err := range map[string]error{"backup": backup, "restore": restore, "create": sqlite.Create(t.Context(), path+side, f.options())} {
			if want := fmt.Sprintf("%s would be taken for the %s of %s", path+side, side, path); !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", act, err, want)
			}
		}
		if _, err := f.Backup(t.Context(), filepath.Join(dir, "alone"+side), nil); err != nil {
			t.Errorf("beside nothing: %v", err)
		}
	}
	if got := names(t, dir); len(got) != 5 {
		t.Errorf("in the folder: %v", got)
	}
}
