package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

var (
	trouble = sqlite.Failure(sqlite3.ErrConstraint, 0)
	full    = sqlite.Failure(sqlite3.ErrFull, 0)
	unsaid  = sqlite.Failure(sqlite3.ErrIoErr, sqlite3.ErrIoErrFsync)
)

// inOrder puts requests into the queue one after another while the lock is held,
// and answers when all of them have been answered.
func (f *fixture) inOrder(requests ...func() error) (answers []error) {
	f.Helper()
	release := holds(f, f.Path())
	answers = make([]error, len(requests))
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() { answers[i] = r() })
		until(func() bool { return f.Waiting() >= i+1 })
	}
	release()
	wg.Wait()
	return answers
}

// A renewal that comes while the requests of a commit that failed are served one
// by one waits for one of them, not for all.
func TestRenewalsGoBeforeWhatIsLeftOfACommitThatFailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var order []string // written on the writer's goroutine
	var renewal sync.WaitGroup
	runs := func(name string, first bool) func() error {
		return func() error {
			return f.Run(context.Background(), first, func() error {
				order = append(order, name)
				return nil
			})
		}
	}
	answers := f.inOrder(
		func() error { return f.Run(context.Background(), false, func() error { return trouble }) },
		func() error {
			return f.Run(context.Background(), false, func() error {
				order = append(order, "a")
				waited := f.Waiting()
				renewal.Go(func() { _ = runs("renewal", true)() })
				until(func() bool { return f.Waiting() != waited })
				return nil
			})
		},
		runs("b", false), runs("c", false),
	)
	renewal.Wait()
	if answers[0] == nil || errors.Join(answers[1:]...) != nil {
		t.Errorf("answers: %v", answers)
	}
	if want := []string{"a", "renewal", "b", "c"}; !slices.Equal(order, want) {
		t.Errorf("order: %v, want %v", order, want)
	}
}

// What is left of a commit that failed waits for the lock once, not one after the
// other: when the first of them is told that the database is busy, all are.
func TestWhatIsLeftOfACommitThatFailedWaitsTogether(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, t.TempDir(), 0)
	var release func()
	f.OnCommit(func(n int, commit func() error, _ func(string) error) error {
		err := commit()
		if n == 1 { // of "a", the first that is served on its own and goes well
			release = holds(f, f.Path())
		}
		return err
	})
	nothing := func() error { return nil }
	var once sync.Once
	last := func() error {
		err := f.Run(context.Background(), false, nothing)
		once.Do(func() { release() })
		return err
	}
	answers := f.inOrder(
		func() error { return f.Run(context.Background(), false, func() error { return trouble }) },
		func() error { return f.Run(context.Background(), false, nothing) },
		last, last, last,
	)
	if answers[1] != nil {
		t.Errorf("the first: %v", answers[1])
	}
	for _, err := range answers[2:] {
		if !errors.Is(err, queue.ErrBusy) {
			t.Errorf("%v, want busy", err)
		}
	}
}

// On a full disk not every request of a commit finds out for itself.
func TestFullDiskIsToldAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	runs, renewals := 0, 0 // written on the writer's goroutine
	var requests []func() error
	for range 32 {
		requests = append(requests, func() error {
			return f.Run(context.Background(), false, func() error {
				runs++
				return full
			})
		})
	}
	requests = append(requests, func() error {
		return f.Run(context.Background(), true, func() error {
			renewals++
			return nil
		})
	})
	answers := f.inOrder(requests...)
	for _, err := range answers[:32] {
		if !errors.Is(err, queue.ErrFull) {
			t.Errorf("%v, want full", err)
		}
	}
	if answers[32] != nil || renewals != 2 {
		t.Errorf("the renewal ran %d times: %v", renewals, answers[32])
	}
	if runs != 2 { // with all others, and one on its own
		t.Errorf("%d runs on a full disk", runs)
	}
}

// The queue trusts the file no more after any sync that failed.
func TestSyncThatFailsInAStatement(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.Run(t.Context(), false, func() error { return unsaid }); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("the statement's caller: %v", err)
	}
	if _, err := f.Enqueue(t.Context(), newJob("a", "1")); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("the next: %v", err)
	}
}

// A doubt that cannot be settled ends the queue, but others go on.
func TestFailedDoubtLetsGoOfTheLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db := raw(t, f.Path())
	f.OnCommit(func(_ int, _ func() error, script func(string) error) error {
		if err := script(`ROLLBACK`); err != nil {
			t.Error(err)
		}
		mustExec(t, db, `CREATE TRIGGER block BEFORE INSERT ON commit_mark BEGIN SELECT raise(ABORT, 'blocked'); END`)
		return sqlite.Failure(sqlite3.ErrIoErr, sqlite3.ErrIoErrWrite)
	})
	if _, err := f.Enqueue(t.Context(), newJob("a", "1")); !errors.Is(err, queue.ErrUnknown) {
		t.Errorf("enqueue: %v", err)
	}
	mustExec(t, db, `DROP TRIGGER block`) // waits for the lock, but not for ever
	_, err := f.Enqueue(t.Context(), newJob("a", "2"))
	if !errors.Is(err, queue.ErrClosed) || !bytes.Contains([]byte(err.Error()), []byte("whether a commit that failed stands could not be read")) {
		t.Errorf("the next: %v", err)
	}
}

// large is a job with a payload of about a mebibyte.
func large(key string) queue.NewJob {
	n := newJob("a", key)
	n.Payload = fmt.Appendf(nil, "%q", bytes.Repeat([]byte("x"), queue.MaxPayload-2))
	return n
}

// A commit is about eight large jobs at most, whoever asks for how many.
func TestCommitsAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	commits, failAt := 0, 0
	f.OnCommit(func(_ int, commit func() error, _ func(string) error) error {
		if commits++; commits == failAt {
			return sqlite.Failure(sqlite3.ErrIoErr, sqlite3.ErrIoErrWrite)
		}
		return commit()
	})
	jobs := make([]queue.NewJob, 20)
	for i := range jobs {
		jobs[i] = large(fmt.Sprint(i))
	}
	results, err := f.EnqueueMany(t.Context(), jobs)
	for i, r := range results {
		if r.Err != nil || !r.Created || len(r.Job.Payload) != queue.MaxPayload {
			t.Errorf("job %d: %v", i, r.Err)
		}
	}
	if err != nil || len(results) != len(jobs) || commits != 3 {
		t.Errorf("%d results in %d commits, %v; want 20 in 3", len(results), commits, err)
	}

	// A later commit that fails is told of those jobs alone.
	for i := range jobs {
		jobs[i] = large(fmt.Sprint("again-", i))
	}
	commits, failAt = 0, 2
	results, err = f.EnqueueMany(t.Context(), jobs)
	if err != nil || len(results) != len(jobs) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		_, get := f.Get(t.Context(), queue.Ref{Kind: "a", Key: jobs[i].Key})
		if stored := get == nil; (r.Err == nil) != (i < 8) || stored != (i < 8) {
			t.Errorf("job %d: %v, then %v", i, r.Err, get)
		}
	}

	// Callers that come together are bounded as one.
	commits, failAt = 0, 0
	var requests []func() error
	for i := range 10 {
		requests = append(requests, func() error {
			_, err := f.Enqueue(context.Background(), large(fmt.Sprint("one-", i)))
			return err
		})
	}
	if err := errors.Join(f.inOrder(requests...)...); err != nil || commits != 2 {
		t.Errorf("%d commits, %v; want 2", commits, err)
	}
}

// Large payloads make the answers of claims short, and lose nothing.
func TestClaimsOfLargePayloads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 12 {
		f.add(large(fmt.Sprint(i)))
	}
	var got [2]int
	var requests []func() error
	for i := range got { // both in one commit
		requests = append(requests, func() error {
			c, err := f.Claim(context.Background(), want("a", 12, queue.Rule{}))
			got[i] = len(c)
			return err
		})
	}
	if err := errors.Join(f.inOrder(requests...)...); err != nil {
		t.Error(err)
	}
	slices.Sort(got[:])
	if got != [2]int{4, 8} {
		t.Errorf("claimed %v, want 4 and 8", got)
	}
}

// Who holds the lock for long leaves it to others for a moment, unless leases
// depend on it.
func TestPauseAfterALongTransaction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		held     time.Duration
		renewals bool
		want     time.Duration
	}{
		{time.Millisecond, false, 0},
		{4 * time.Millisecond, false, 0},
		{10 * time.Millisecond, false, time.Millisecond},
		{time.Second, false, 2 * time.Millisecond},
		{time.Second, true, 0},
	} {
		if got := sqlite.PauseAfter(c.held, c.renewals); got != c.want {
			t.Errorf("held for %v, renewals %v: %v, want %v", c.held, c.renewals, got, c.want)
		}
	}
}
