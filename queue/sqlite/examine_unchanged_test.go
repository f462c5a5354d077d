package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
)

// evidence are the files in a folder, but for the index of a log, which says nothing.
func evidence(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	list := map[string][]byte{}
	for _, name := range names(t, folder) {
		if strings.HasSuffix(name, "-shm") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		list[name] = b
	}
	return list
}

func sameFiles(t testing.TB, what string, before, after map[string][]byte) {
	t.Helper()
	for name, b := range after {
		if was, there := before[name]; !there || !bytes.Equal(was, b) {
			t.Errorf("%s: %s was made or changed", what, name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			t.Errorf("%s: %s was removed", what, name)
		}
	}
}

// What a process that died has left is evidence: it stays as it was, and is read.
func TestExamineLeavesALogAsItIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("ready", queue.StateReady)
	all := evidence(t, filepath.Dir(f.Path())) // as after a kill at this moment
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.Base(f.Path()))
	for name, b := range all {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := evidence(t, dir)
	if len(before[filepath.Base(path)+"-wal"]) == 0 {
		t.Fatalf("no log: %v", names(t, dir))
	}
	mustFind := func(what string) {
		t.Helper()
		if got := wrong(f.examines(path)); len(got) != 0 {
			t.Errorf("%s: %v", what, got)
		}
		sameFiles(t, what, before, evidence(t, dir))
	}
	mustFind("with a log")
	mustFind("once more")
	if err := os.Truncate(path+"-wal", 0); err != nil {
		t.Fatal(err)
	}
	before = evidence(t, dir)
	_ = f.examines(path)
	sameFiles(t, "with an empty log", before, evidence(t, dir))

	alone := filepath.Join(t.TempDir(), "q.db")
	newDatabase(t, alone)
	before = evidence(t, filepath.Dir(alone))
	_ = f.examines(alone)
	if got := names(t, filepath.Dir(alone)); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
	sameFiles(t, "with nothing beside it", before, evidence(t, filepath.Dir(alone)))
}

// Under a name by which a queue is refused nothing is opened, let alone made.
func TestExamineStopsAtARefusedPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("ready", queue.StateReady)
	dir := t.TempDir()
	second := filepath.Join(dir, "second.db")
	link(t, f.Path(), second)
	// An empty log would be kept, and show that the file was opened.
	if err := os.WriteFile(second+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := f.examines(second)
	if got := wrong(r); len(r.Findings) != 1 || !strings.Contains(got["place"], "2 names (hard links)") || !r.Findings[0].NotOurs {
		t.Errorf("found %+v", r.Findings)
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("made: %v", got)
	}
}
