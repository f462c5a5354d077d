package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func move(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// wasMoved checks what every method answers about a database that was moved.
func wasMoved(t testing.TB, act string, err error) {
	t.Helper()
	for _, want := range []error{queue.ErrMoved, queue.ErrNotOurs, queue.ErrClosed} {
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", act, err, want)
		}
	}
}

// displacements are the ways in which the files of an open database can get lost.
// Each answers the words that tell of it; undo puts everything back.
var displacements = map[string]func(t testing.TB, path string) (words string, undo func()){
	"moved": func(t testing.TB, path string) (string, func()) {
		move(t, path, path+".old")
		return "q.db was inode ", func() { move(t, path+".old", path) }
	},
	"folder moved": func(t testing.TB, path string) (string, func()) {
		folder := filepath.Dir(path)
		move(t, folder, folder+".old")
		return "nothing is there now", func() { move(t, folder+".old", folder) }
	},
	"replaced": func(t testing.TB, path string) (string, func()) {
		move(t, path, path+".old")
		if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
		return "is there now", func() { move(t, path+".old", path) }
	},
	"log moved": func(t testing.TB, path string) (string, func()) {
		move(t, path+"-wal", path+".old")
		return "q.db-wal (its log) was inode ", func() { move(t, path+".old", path+"-wal") }
	},
	"log replaced": func(t testing.TB, path string) (string, func()) {
		move(t, path+"-wal", path+".old")
		if err := os.WriteFile(path+"-wal", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return "q.db-wal (its log) was inode ", func() { move(t, path+".old", path+"-wal") }
	},
	"shared memory moved": func(t testing.TB, path string) (string, func()) {
		move(t, path+"-shm", path+".old")
		return "q.db-shm (its shared memory) was inode ", func() { move(t, path+".old", path+"-shm") }
	},
}

func newFixtureBelow(t testing.TB) *fixture {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "below")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return newFixtureIn(t, folder)
}

// The first write after it is refused, and everything else from then on.
func TestDisplacedDatabaseRefusesTheNextWrite(t *testing.T) {
	t.Parallel()
	for name, displace := range displacements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureBelow(t)
			f.add(newJob("a", "1"))
			changes, err := f.Changes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			words, undo := displace(t, f.Path())
			_, err = f.Enqueue(t.Context(), newJob("a", "2"))
			wasMoved(t, "the next write", err)
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%v does not say %q", err, words)
			}
			undo() // too late: others may have written meanwhile
			for open := true; open; {
				_, open = <-changes
			}
			_, err = f.Enqueue(t.Context(), newJob("a", "3"))
			wasMoved(t, "a later write", err)
			_, err = f.Get(t.Context(), queue.Ref{ID: 1})
			wasMoved(t, "a read", err)
			_, err = f.Changes(t.Context())
			wasMoved(t, "watching", err)
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			_, err = f.Get(t.Context(), queue.Ref{ID: 1})
			wasMoved(t, "a read of the closed queue", err)
		})
	}
}

// Nobody has to write for it to be noticed.
func TestDisplacedDatabaseIsNoticedByItself(t *testing.T) {
	t.Parallel()
	for name, displace := range displacements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureBelow(t)
			f.add(newJob("a", "1"))
			changes, err := f.Changes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, undo := displace(t, f.Path())
			for open := true; open; {
				_, open = <-changes
			}
			undo()
			_, err = f.Get(t.Context(), queue.Ref{ID: 1})
			wasMoved(t, "a read", err)
			_, err = f.Enqueue(t.Context(), newJob("a", "2"))
			wasMoved(t, "a write", err)
		})
	}
}

// A read that needs a connection finds out, and does not make a log in place of one
// that is missing.
func TestDisplacedDatabaseIsNoticedByAReadThatConnects(t *testing.T) {
	t.Parallel()
	for name, displace := range displacements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixtureBelow(t)
			f.add(newJob("a", "1"))
			_, undo := displace(t, f.Path())
			_, err := f.Get(t.Context(), queue.Ref{ID: 1})
			wasMoved(t, "the read", err)
			undo()
		})
	}
	t.Run("log deleted", func(t *testing.T) {
		t.Parallel()
		f := newFixtureBelow(t)
		f.add(newJob("a", "1"))
		remove(t, f.Path()+"-wal")
		_, err := f.Get(t.Context(), queue.Ref{ID: 1})
		wasMoved(t, "the read", err)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		holdsJobs(t, f.Path(), "1")
	})
}

// Who waits for a lock that another holds hears of it at once.
func TestDisplacedDatabaseEndsTheWaitingForItsLock(t *testing.T) {
	t.Parallel()
	f := newFixtureBelow(t)
	release := holds(t, f.Path())
	told := make(chan error)
	go func() { told <- f.enqueues(t.Context(), 1, 10) }()
	until(func() bool { return f.Waiting() > 0 })
	_, undo := displacements["moved"](t, f.Path())
	wasMoved(t, "the one that waited", <-told)
	release()
	undo()
}

// After a commit that failed nobody can say any more what stands.
func TestDatabaseDisplacedInACommitThatFails(t *testing.T) {
	t.Parallel()
	f := newFixtureBelow(t)
	var undo func()
	f.FailCommit(func(func() error) error {
		_, undo = displacements["moved"](t, f.Path())
		return sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrWrite}
	})
	err := f.enqueues(t.Context(), 1, 10)
	if !errors.Is(err, queue.ErrUnknown) || !errors.Is(err, queue.ErrMoved) {
		t.Errorf("got %v, want unknown and moved", err)
	}
	undo()
}

// A commit that failed while no read had a connection leaves the queue usable: its
// own closing of the old connection is no displacement.
func TestDoubtKeepsTheFilesInPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.FailCommit(func(func() error) error {
		return sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrWrite}
	})
	if err := f.enqueues(t.Context(), 1, 10); err == nil {
		t.Error("the commit did not fail")
	}
	if err := f.enqueues(t.Context(), 2, 10); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

func init() {
	// It enqueues three jobs, then one for each line on stdin, and closes.
	parts["enqueue-and-close"] = func(ctx context.Context, path string) error {
		q, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return err
		}
		for i := range 3 {
			if _, err := q.Enqueue(ctx, newJob("a", fmt.Sprint(i))); err != nil {
				return err
			}
		}
		fmt.Println("ready")
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			_, err := q.Enqueue(ctx, newJob("a", lines.Text()))
			fmt.Println(errors.Is(err, queue.ErrMoved))
		}
		return q.Close()
	}
}

// elsewhere is another process that has the database open.
type elsewhere struct {
	in   io.WriteCloser
	out  *bufio.Scanner
	wait func() error
	pid  int
}

func opensElsewhere(t testing.TB, path string) *elsewhere {
	t.Helper()
	cmd := child(t, "enqueue-and-close", path)
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
	e := &elsewhere{in, bufio.NewScanner(out), cmd.Wait, cmd.Process.Pid}
	if !e.out.Scan() {
		t.Fatal("it did not open the database")
	}
	return e
}

// notices lets it try to write.
func (e *elsewhere) notices(t testing.TB) {
	t.Helper()
	if _, err := io.WriteString(e.in, "late\n"); err != nil {
		t.Fatal(err)
	}
	if !e.out.Scan() || e.out.Text() != "true" {
		t.Errorf("it did not notice: %q", e.out.Text())
	}
}

// ends lets it close the queue and exit.
func (e *elsewhere) ends(t testing.TB) {
	t.Helper()
	if err := errors.Join(e.in.Close(), e.wait()); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// holdsJobs compares the keys of the jobs in a database.
func holdsJobs(t testing.TB, path string, want ...string) {
	t.Helper()
	sound(t, path)
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = q.Close() }()
	jobs, err := q.List(t.Context(), queue.Filter{})
	if err != nil {
		t.Error(err)
	}
	var got []string
	for _, j := range jobs {
		got = append(got, j.Key)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds the jobs %v, want %v", path, got, want)
	}
}

func newDatabase(t testing.TB, path string) {
	t.Helper()
	if err := sqlite.Create(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
}

// A database that is moved with all that is beside it, while another is made in its
// place: the end of the queue that had the first one open harms neither.
func TestEndOfADisplacedQueueHarmsNothing(t *testing.T) {
	t.Parallel()
	for _, noticed := range []bool{true, false} {
		t.Run(fmt.Sprintf("noticed=%v", noticed), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "q.db")
			old := filepath.Join(t.TempDir(), "old.db")
			newDatabase(t, path)
			e := opensElsewhere(t, path)
			for _, side := range []string{"", "-wal", "-shm", "-reserve"} {
				move(t, path+side, old+side)
			}
			newDatabase(t, path)
			q, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := q.Enqueue(t.Context(), newJob("b", "new")); err != nil {
				t.Fatal(err)
			}
			if noticed {
				e.notices(t)
			}
			e.ends(t)
			for _, name := range []string{path + "-wal", path + "-shm", old + "-wal"} {
				if _, err := os.Stat(name); err != nil {
					t.Errorf("the end removed %s", name)
				}
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
			holdsJobs(t, path, "new")
			holdsJobs(t, old, "0", "1", "2")
		})
	}
}

// Whoever opens a database beside which the log was deleted makes another one. The
// end of the queue that has the deleted one open neither removes it nor copies old
// pages over what was written since.
func TestEndOfAQueueWhoseLogWasReplacedHarmsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "q.db")
	newDatabase(t, path)
	e := opensElsewhere(t, path)
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(e.pid, s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP) // so that it notices only afterwards
	remove(t, path+"-wal")
	remove(t, path+"-shm")
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Enqueue(t.Context(), newJob("b", "new")); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	signal(syscall.SIGCONT)
	e.ends(t)
	holdsJobs(t, path, "new")
}

// A database that was moved alone is whole again when it is moved back, and so is
// one whose log was moved or deleted.
func TestNothingAcceptedIsLostWithADisplacedFile(t *testing.T) {
	t.Parallel()
	for name, displace := range map[string]func(path string) (undo func()){
		"database moved": func(path string) func() {
			_, undo := displacements["moved"](t, path)
			return undo
		},
		"log moved": func(path string) func() {
			_, undo := displacements["log moved"](t, path)
			return undo
		},
		"log deleted": func(path string) func() {
			remove(t, path+"-wal")
			return func() {}
		},
		"shared memory deleted": func(path string) func() {
			remove(t, path+"-shm")
			return func() {}
		},
		"log and shared memory deleted": func(path string) func() {
			remove(t, path+"-wal")
			remove(t, path+"-shm")
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "q.db")
			newDatabase(t, path)
			e := opensElsewhere(t, path)
			undo := displace(path)
			e.notices(t)
			e.ends(t)
			undo()
			holdsJobs(t, path, "0", "1", "2")
		})
	}
}
