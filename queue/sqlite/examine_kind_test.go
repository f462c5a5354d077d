package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// adviceOn is what is advised where a check found something wrong.
func adviceOn(r sqlite.Report, check string) string {
	for _, f := range r.Findings {
		if f.Check == check && !f.OK {
			return f.Advice
		}
	}
	return ""
}

// Of a file that is not ours nothing more is asked, and nothing is said of damage.
func TestExamineOfWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := filepath.Join(dir, "foreign.db")
	mustExec(t, rawNew(t, foreign), `CREATE TABLE t (a)`)
	newer, err := os.ReadFile(f.backs().Path)
	if err != nil {
		t.Fatal(err)
	}
	newer[63] = 99 // user_version
	const name = "Name the right file: bailiff doctor --db FILE"
	for path, want := range map[string][2]string{
		file("text.db", strings.Repeat("no database at all. ", 100)): {"it is no SQLite database", name},
		file("empty.db", ""):            {"it is empty", name},
		dir:                             {"it is a folder", name},
		foreign:                         {"it is another program's database", name},
		file("newer.db", string(newer)): {"a newer bailiff wrote it", "use the bailiff that wrote it"},
	} {
		r := f.examines(path)
		if len(r.Findings) != 1 || !r.Findings[0].NotOurs || !strings.Contains(wrong(r)["file"], want[0]) || !strings.Contains(adviceOn(r, "file"), want[1]) {
			t.Errorf("%s: %+v", path, r.Findings)
		}
	}
}

// A queue that has lost its beginning was bailiff's all the same.
func TestExamineOfALostBeginning(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	content, err := os.ReadFile(f.backs().Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "q.db")
	for _, lost := range []int{16, 4096} {
		clear(content[:lost])
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if lost > 100 {
			if err := os.WriteFile(path+"-reserve", nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := f.examines(path)
		if len(r.Findings) != 1 || !r.Findings[0].NotOurs || !strings.Contains(adviceOn(r, "file"), "bailiff restore SNAPSHOT NEW") {
			t.Errorf("%d bytes: %+v", lost, r.Findings)
		}
	}
}

func TestExamineOfASnapshot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, state := range queue.States() {
		f.brings("key-"+string(state), state)
	}
	snapshot := f.backs().Path
	content, err := os.ReadFile(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	r := f.examines(snapshot)
	if got := wrong(r); len(got) != 0 {
		t.Errorf("a good one: %v", got)
	}
	if kind := r.Findings[0]; kind.Detail != "a snapshot of 2026-11-30T03:00:00Z: bailiff restore "+snapshot+" NEW makes a queue of it" {
		t.Errorf("kind: %+v", kind)
	}
	if len(r.Findings) < 10 {
		t.Errorf("only %d findings", len(r.Findings))
	}
	for name, change := range map[string]func(content []byte){
		"one bit turned": func(content []byte) { content[len(content)-1] ^= 1 },
		"a page is lost": func(content []byte) { clear(content[4096*8 : 4096*9]) },
	} {
		damaged := bytes.Clone(content)
		change(damaged)
		if err := os.WriteFile(snapshot, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		r := f.examines(snapshot)
		if got := wrong(r); len(got) != 1 || !strings.HasPrefix(adviceOn(r, "seal"), "it cannot be restored") || !r.Findings[len(r.Findings)-1].NotOurs {
			t.Errorf("%s: %+v", name, r.Findings)
		}
	}
	if err := os.WriteFile(snapshot, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(snapshot+"-wal", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := wrong(f.examines(snapshot)); len(got) != 1 || got["side files"] == "" {
		t.Errorf("with a log beside it: %v", got)
	}
}

// The command that counts anew is offered where nothing else is wrong.
func TestExamineAdvisesToCountAnew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("ready", queue.StateReady)
	db := raw(t, f.Path())
	mustExec(t, db, `UPDATE counts SET n = n + 1`)
	if got := adviceOn(f.examines(f.Path()), "counts"); !strings.Contains(got, "DELETE FROM counts") {
		t.Errorf("counts alone: %q", got)
	}
	mustExec(t, db, `CREATE TEMP TABLE kept AS SELECT * FROM job_data`)
	mustExec(t, db, `DELETE FROM job_data`)
	r := f.examines(f.Path())
	mustExec(t, db, `INSERT INTO job_data SELECT * FROM kept`)
	mustExec(t, db, `UPDATE counts SET n = n - 1`)
	if got := adviceOn(r, "counts"); got == "" || strings.Contains(got, "sqlite3") {
		t.Errorf("with a payload lost: %q", got)
	}
	if got := adviceOn(r, "payloads"); !strings.Contains(got, "bailiff --db "+f.Path()+" backup FILE") {
		t.Errorf("payloads: %q", got)
	}
}

// The same is said once of many rows.
func TestExamineCountsReferences(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 3 {
		if err := f.enqueues(t.Context(), i, 10); err != nil {
			t.Fatal(err)
		}
	}
	db := raw(t, f.Path())
	mustExec(t, db, `PRAGMA foreign_keys = OFF; UPDATE jobs SET kind_id = kind_id + 9`)
	got := wrong(f.examines(f.Path()))["foreign keys"]
	mustExec(t, db, `UPDATE jobs SET kind_id = kind_id - 9`)
	if got != "3 rows of jobs refer to one of kinds that is not there" {
		t.Errorf("found %q", got)
	}
}

func TestExamineOfTheFreeSpace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r, err := sqlite.Examine(t.Context(), f.Path(), f.options(), sqlite.Known{MinFree: 1 << 60})
	if got := wrong(r)["free space"]; err != nil || !strings.Contains(got, "below 1073741824.0 GiB (min_free)") {
		t.Errorf("found %q, %v", got, err)
	}
	if got := adviceOn(r, "free space"); strings.Contains(got, "prune") {
		t.Errorf("advice %q", got)
	}
}

// What a damaged queue is to be replaced with is named where it is known.
func TestExamineNamesTheNewestSnapshot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 20 {
		if err := f.enqueues(t.Context(), i, 2000); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "damaged.db")
	damagedCopy(t, f, path)
	for known, want := range map[string]string{"": "restore SNAPSHOT NEW", "/backup/it s.db": "restore '/backup/it s.db' NEW", path: "restore SNAPSHOT NEW"} {
		r, err := sqlite.Examine(t.Context(), path, f.options(), sqlite.Known{Newest: known})
		if got := adviceOn(r, "integrity"); err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: %q, %v", known, got, err)
		}
	}
}
