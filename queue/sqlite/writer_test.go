package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// holds takes the write lock for another program until the answer is called.
func holds(t testing.TB, path string) (release func()) {
	t.Helper()
	tx, err := raw(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}

// together makes n writes wait for the lock at once, so that one commit is about
// all of them, and answers what each was told.
func together(f *fixture, n int, write func(i int) error, meanwhile func()) []error {
	f.Helper()
	release := holds(f, f.Path())
	answers := make([]error, n)
	var early atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			answers[i] = write(i)
			early.Add(1)
		})
	}
	until(func() bool { return f.Waiting()+int(early.Load()) >= n })
	meanwhile()
	release()
	wg.Wait()
	return answers
}

// tellsTheTruth compares what each of the writes was told with what stands after
// reopening. Job i has the key i.
func tellsTheTruth(f *fixture, answers []error) (accepted int) {
	f.Helper()
	f.reopen()
	for i, err := range answers {
		_, get := f.Get(context.Background(), queue.Ref{Kind: "a", Key: fmt.Sprint(i)})
		switch {
		case err == nil && get != nil:
			f.Errorf("job %d was accepted and is not there: %v", i, get)
		case err != nil && !errors.Is(err, queue.ErrUnknown) && !errors.Is(get, queue.ErrNotFound):
			f.Errorf("job %d was refused (%v) and is there: %v", i, err, get)
		case err == nil:
			accepted++
		}
	}
	return accepted
}

func (f *fixture) enqueues(ctx context.Context, i, size int) error {
	n := newJob("a", fmt.Sprint(i))
	n.Payload = fmt.Appendf(nil, "%q", strings.Repeat("x", size))
	_, err := f.Enqueue(ctx, n)
	return err
}

func TestCancelledCallersInABatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = 64
	ctx, cancel := context.WithCancel(t.Context())
	answers := together(f, n, func(i int) error {
		if i%2 == 1 {
			return f.enqueues(ctx, i, 10)
		}
		return f.enqueues(t.Context(), i, 10)
	}, cancel)
	for i, err := range answers {
		if (i%2 == 1) != errors.Is(err, context.Canceled) || i%2 == 0 && err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
	if got := tellsTheTruth(f, answers); got != n/2 {
		t.Errorf("%d accepted", got)
	}
}

// A context that ends while the batch is committed ends the waiting alone.
func TestCallerLeavesDuringTheCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	var leaver error
	f.FailCommit(func(commit func() error) error {
		cancel()
		<-left
		return commit()
	})
	go func() {
		leaver = f.enqueues(ctx, 0, 10)
		close(left)
	}()
	<-left
	if !errors.Is(leaver, queue.ErrUnknown) || !errors.Is(leaver, context.Canceled) {
		t.Errorf("who left was told %v", leaver)
	}
	f.reopen()
	if _, err := f.Get(t.Context(), queue.Ref{Kind: "a", Key: "0"}); err != nil {
		t.Errorf("the work did not go on: %v", err)
	}
}

// The jobs of a claim whose caller left while it was committed are nobody's
// fault: they are ready again, without an attempt.
func TestClaimOfACallerWhoLeftIsGivenBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	f.FailCommit(func(commit func() error) error {
		cancel()
		if err := <-left; !errors.Is(err, queue.ErrUnknown) {
			t.Errorf("who left was told %v", err)
		}
		return commit()
	})
	go func() {
		_, err := f.Claim(ctx, want("a", 1, queue.Rule{}))
		left <- err
	}()
	<-ctx.Done()
	f.reopen()
	if job := f.get(1); job.State != queue.StateReady || job.Attempt != 0 || job.Fence != 1 {
		t.Errorf("job: %+v", job)
	}
}

// Giving back is tried again where it fails.
func TestGivingBackIsTriedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	f.OnCommit(func(n int, commit func() error, _ func(string) error) error {
		switch n {
		case 1: // the claim
			cancel()
			<-left
		case 2: // what gives back
			return sqlite.Failure(sqlite3.ErrFull, 0)
		}
		return commit()
	})
	go func() {
		_, err := f.Claim(ctx, want("a", 1, queue.Rule{}))
		left <- err
	}()
	<-ctx.Done()
	until(func() bool { job := f.get(1); return job.Fence > 0 && job.State != queue.StateLeased }) // the lease ends never: the clock stands
	if job := f.get(1); job.State != queue.StateReady || job.Attempt != 0 || job.Fence != 1 {
		t.Errorf("job: %+v", job)
	}
}

func TestFullDatabaseInABatch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// Room for some of the jobs: a batch of all of them does not fit, and one by
	// one some do.
	if err := f.WriterScript(`PRAGMA max_page_count = 90`); err != nil {
		t.Fatal(err)
	}
	fullInABatch(f, 4000)
}

// fullInABatch writes 64 jobs at once, of sizes up to three times step, of which
// the disk holds some.
func fullInABatch(f *fixture, step int) {
	f.Helper()
	f.add(newJob("a", "before")) // so that the kind stands whatever is rolled back
	answers := together(f, 64, func(i int) error { return f.enqueues(f.Context(), i, 100+i%4*step) }, func() {})
	for i, err := range answers {
		if err != nil && !errors.Is(err, queue.ErrFull) {
			f.Errorf("job %d: %v", i, err)
		}
	}
	if got := tellsTheTruth(f, answers); got == 0 || got == 64 {
		f.Errorf("%d of 64 accepted: the test is about some", got)
	}
}

// An error report from COMMIT is not believed either way.
func TestCommitThatFails(t *testing.T) {
	t.Parallel()
	failure := func(code sqlite3.ErrNo, extended sqlite3.ErrNoExtended) error {
		return sqlite3.Error{Code: code, ExtendedCode: extended}
	}
	for name, c := range map[string]struct {
		commit func(commit func() error) error
		want   error // of every caller; nil: accepted
		usable bool
	}{
		"stands though it reports an error": {
			func(commit func() error) error {
				if err := commit(); err != nil {
					return err
				}
				return failure(sqlite3.ErrIoErr, sqlite3.ErrIoErrSHMMap)
			}, nil, true,
		},
		"does not stand": {
			func(func() error) error { return failure(sqlite3.ErrIoErr, sqlite3.ErrIoErrWrite) }, nil, true,
		},
		"is not confirmed": {
			func(commit func() error) error {
				if err := commit(); err != nil {
					return err
				}
				return failure(sqlite3.ErrIoErr, sqlite3.ErrIoErrFsync)
			}, queue.ErrUnknown, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.FailCommit(c.commit)
			answers := together(f, 8, func(i int) error { return f.enqueues(t.Context(), i, 10) }, func() {})
			for i, err := range answers {
				if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
					t.Errorf("job %d: %v, want %v", i, err, c.want)
				}
			}
			next := f.enqueues(t.Context(), 8, 10)
			if usable := next == nil; usable != c.usable {
				t.Errorf("the next one: %v", next)
			}
			if !c.usable && !errors.Is(next, queue.ErrClosed) {
				t.Errorf("the next one: %v, want closed", next)
			}
			tellsTheTruth(f, append(answers, next))
			// Nothing was done twice.
			h, err := f.History(t.Context(), 1, 0)
			if err != nil || len(h) != 1 {
				t.Errorf("history: %+v, %v", h, err)
			}
		})
	}
}

// A claim whose COMMIT failed but stands must not lease the job a second time.
func TestClaimCommitThatFailsButStands(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	f.FailCommit(func(commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		return sqlite3.Error{Code: sqlite3.ErrIoErr, ExtendedCode: sqlite3.ErrIoErrSHMSize}
	})
	c := f.claimOne("a", queue.Rule{})
	if s := f.settles(c, queue.Outcome{Is: queue.RunDone}); s.State != queue.StateDone {
		t.Errorf("settled: %+v", s)
	}
}

// One request's trouble is its own.
func TestTroubleOfOneIsNotTheOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	answers := together(f, 16, func(i int) error {
		if i == 5 {
			return f.WriterScript(`INSERT INTO counts VALUES (999, 1, -1)`)
		}
		return f.enqueues(t.Context(), i, 10)
	}, func() {})
	for i, err := range answers {
		if (err != nil) != (i == 5) {
			t.Errorf("job %d: %v", i, err)
		}
	}
	answers[5] = errors.New("no job")
	if got := tellsTheTruth(f, answers); got != 15 {
		t.Errorf("%d accepted", got)
	}
}

func TestDatabaseHeldByOthers(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, t.TempDir(), 0)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	release := holds(t, f.Path())
	// Reading goes on.
	if job := f.get(1); job.State != queue.StateLeased {
		t.Errorf("job: %+v", job)
	}
	began := time.Now()
	_, err := f.Enqueue(t.Context(), newJob("a", "2"))
	if !errors.Is(err, queue.ErrBusy) {
		t.Errorf("enqueue: %v, want busy", err)
	}
	if waited := time.Since(began); waited < 4*time.Second {
		t.Errorf("gave up after %v", waited)
	}
	release()
	f.settles(c, queue.Outcome{Is: queue.RunDone})
	if _, err := f.Get(t.Context(), queue.Ref{Kind: "a", Key: "2"}); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("what was refused: %v", err)
	}
}

// Renewals are served before what waited longer.
func TestRenewalsGoFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	release := holds(t, f.Path())
	var order []string
	var mu sync.Mutex
	var wg sync.WaitGroup
	told := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	// More than one commit's weight of other work, in the queue before the renewal.
	many := make([]queue.NewJob, queue.MaxBatch)
	for b := range 3 {
		jobs := make([]queue.NewJob, len(many))
		for i := range jobs {
			jobs[i] = newJob("b", fmt.Sprintf("%d-%d", b, i))
		}
		wg.Go(func() {
			if _, err := f.EnqueueMany(t.Context(), jobs); err != nil {
				t.Error(err)
			}
			told("many")
		})
	}
	until(func() bool { return f.Waiting() >= 3 })
	wg.Go(func() {
		if r := f.renews(c, time.Minute); r.Err != nil {
			t.Error(r.Err)
		}
		told("renewal")
	})
	until(func() bool { return f.Waiting() >= 4 })
	release()
	wg.Wait()
	if last := order[len(order)-1]; last == "renewal" {
		t.Errorf("order: %v", order)
	}
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := f.Path()
	closed := make(chan error)
	answers := together(f, 32, func(i int) error { return f.enqueues(t.Context(), i, 10) }, func() {
		go func() { closed <- f.Close() }()
	})
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for i, err := range answers {
		if err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
	f.Queue = f.open(path)
	if jobs, err := f.List(t.Context(), queue.Filter{}); err != nil || len(jobs) != 32 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}
