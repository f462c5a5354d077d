package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// longAgo is past for the children too, who have the machine's clock.
var longAgo = time.Unix(1, 0)

// partVariable names the part that the test binary plays instead of testing.
const partVariable = "BAILIFF_TEST_PART"

// TestMain lets the test binary stand in for another process on the database.
func TestMain(m *testing.M) {
	part := os.Getenv(partVariable)
	if part == "" {
		os.Exit(m.Run())
	}
	if err := parts[part](context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, part+":", err)
		os.Exit(1)
	}
}

// child is another process that plays a part on the database at path.
func child(t testing.TB, part, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), partVariable+"="+part)
	cmd.Stderr = os.Stderr
	t.Cleanup(func() {
		if cmd.Process != nil && cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

var parts = map[string]func(ctx context.Context, path string) error{
	"enqueue-and-die": func(ctx context.Context, path string) error {
		q, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return err
		}
		if _, err := q.Enqueue(ctx, newJob("a", "last words")); err != nil {
			return err
		}
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	},
	// For each line on stdin it claims one job and prints what it got.
	"race": func(ctx context.Context, path string) error {
		q, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = q.Close() }()
		fmt.Println("open")
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			c, err := q.Claim(ctx, want("race", 1, queue.Rule{}))
			if err != nil {
				return err
			}
			fmt.Println(len(c))
		}
		return nil
	},
	// For each line on stdin it enqueues a job.
	"enqueue-on-demand": func(ctx context.Context, path string) error {
		q, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = q.Close() }()
		n := 0
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); n++ {
			if _, err := q.Enqueue(ctx, newJob("a", fmt.Sprint(n))); err != nil {
				return err
			}
		}
		return nil
	},
	// It enqueues jobs one after the other, about 100 a second, and prints the key of
	// each that was acknowledged.
	"enqueue-steadily": func(ctx context.Context, path string) error {
		return steadily(ctx, path, "other", func(key string) { fmt.Println(key) })
	},
	// It makes snapshots beside the database, one after the other, and prints when one
	// is begun and when it is made.
	"backup-forever": func(ctx context.Context, path string) error {
		q, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return err
		}
		for n := 0; ; n++ {
			name := fmt.Sprintf("snapshot-%d.db", n)
			fmt.Println("begun", name)
			if _, err := q.Backup(ctx, filepath.Join(filepath.Dir(path), name), nil); err != nil {
				return err
			}
			fmt.Println("made", name)
		}
	},
	// It makes queues of the snapshot, one after the other.
	"restore-forever": func(ctx context.Context, path string) error {
		for n := 0; ; n++ {
			name := fmt.Sprintf("restored-%d.db", n)
			fmt.Println("begun", name)
			if _, err := sqlite.Restore(ctx, path, filepath.Join(filepath.Dir(path), name), sqlite.Options{}, nil); err != nil {
				return err
			}
			fmt.Println("made", name)
		}
	},
	// It does jobs until none is left for a while.
	"work": func(ctx context.Context, path string) error {
		q, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = q.Close() }()
		var wg sync.WaitGroup
		errs := make(chan error, 4)
		for range cap(errs) {
			wg.Go(func() { errs <- work(ctx, q) })
		}
		wg.Wait()
		for range cap(errs) {
			if err := <-errs; err != nil {
				return err
			}
		}
		return nil
	},
}

// work claims and settles jobs of kind "load" until the one called "end" is the
// only one left.
func work(ctx context.Context, q *sqlite.Queue) error {
	for {
		jobs, err := q.Claim(ctx, want("load", 3, queue.Rule{}))
		if err != nil {
			return err
		}
		for _, c := range jobs {
			fmt.Println(c.Job.Key)
			if _, err := q.Settle(ctx, queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone}}); err != nil {
				return err
			}
		}
		if len(jobs) == 0 {
			if _, err := q.Get(ctx, queue.Ref{Kind: "signal", Key: "no more"}); err == nil {
				return nil
			}
		}
	}
}

// Between processes: one job, four claims at the same moment, one winner.
func TestFourProcessesRaceForOneJob(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	type racer struct {
		in  io.WriteCloser
		out *bufio.Scanner
	}
	var racers []racer
	for range 4 {
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
		r := racer{in, bufio.NewScanner(out)}
		if !r.out.Scan() {
			t.Fatal("a racer did not open the database")
		}
		racers = append(racers, r)
		t.Cleanup(func() {
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	for round := range 40 {
		n := newJob("race", fmt.Sprint(round))
		n.AvailableAt = longAgo
		f.add(n)
		for _, r := range racers {
			if _, err := io.WriteString(r.in, "go\n"); err != nil {
				t.Fatal(err)
			}
		}
		winners := 0
		for _, r := range racers {
			if !r.out.Scan() {
				t.Fatal("a racer gave no answer")
			}
			if r.out.Text() == "1" {
				winners++
			}
		}
		if winners != 1 {
			t.Errorf("round %d: %d winners", round, winners)
		}
	}
}

// Two processes that work and one that enqueues, none of them ever told
// that the database is locked, each job done once.
func TestProcessesUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const enqueuers, each = 20, 20
	outs := make([]strings.Builder, 2)
	var cmds []*exec.Cmd
	for i := range outs {
		cmd := child(t, "work", f.Path())
		cmd.Stdout = &outs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	q := f.Queue
	var wg sync.WaitGroup
	for i := range enqueuers {
		wg.Go(func() {
			for k := range each {
				n := newJob("load", fmt.Sprintf("%d-%d", i, k))
				n.AvailableAt = longAgo
				if _, err := q.Enqueue(t.Context(), n); err != nil {
					t.Error(err)
				}
				if _, err := q.Metrics(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f.add(newJob("signal", "no more"))
	done := map[string]int{}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		for _, key := range strings.Fields(outs[i].String()) {
			done[key]++
		}
	}
	if len(done) != enqueuers*each {
		t.Errorf("%d jobs were done of %d", len(done), enqueuers*each)
	}
	for key, n := range done {
		if n != 1 {
			t.Errorf("%s was done %d times", key, n)
		}
	}
	if m, err := f.Metrics(t.Context()); err != nil || m.Done != enqueuers*each {
		t.Errorf("metrics: %+v, %v", m, err)
	}
}
