package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// steadily enqueues about 100 jobs a second, until ctx ends, and tells of each that
// was acknowledged.
func steadily(ctx context.Context, path, prefix string, told func(key string)) error {
	q, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	beat := time.NewTicker(10 * time.Millisecond)
	defer beat.Stop()
	for n := 0; ; n++ {
		job := newJob("load", fmt.Sprintf("%s-%d", prefix, n))
		job.Payload = fmt.Appendf(nil, "%q", strings.Repeat("x", 500))
		if _, err := q.Enqueue(context.WithoutCancel(ctx), job); err != nil {
			return err
		}
		told(job.Key)
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
	}
}

// acknowledged are the keys of jobs that were accepted.
type acknowledged struct {
	mu   sync.Mutex
	keys []string
}

func (a *acknowledged) add(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, key)
}

func (a *acknowledged) now() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[:len(a.keys):len(a.keys)]
}

// While this process and another one enqueue 200 jobs a second, a snapshot holds
// all that was acknowledged before it was begun.
func TestSnapshotUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("held", "1"))
	held := f.claimOne("held", queue.Rule{})
	var acks acknowledged
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var load sync.WaitGroup
	load.Go(func() {
		if err := steadily(ctx, f.Path(), "own", acks.add); err != nil {
			t.Error(err)
		}
	})
	cmd := child(t, "enqueue-steadily", f.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	load.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			acks.add(lines.Text())
		}
	})
	for snapshot := range 5 {
		until(func() bool { return len(acks.now()) >= 100*(snapshot+1) })
		before := acks.now()
		b, err := f.Backup(t.Context(), filepath.Join(t.TempDir(), "snapshot.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		to, r := f.restores(b.Path)
		for _, key := range before {
			job, err := to.Get(t.Context(), queue.Ref{Kind: "load", Key: key})
			if err != nil || job.State != queue.StateQuarantined {
				t.Errorf("%s: %+v, %v", key, job, err)
			}
			again := newJob("load", key)
			again.Payload = job.Payload
			if e, err := to.Enqueue(t.Context(), again); err != nil || e.Created {
				t.Errorf("%s enqueued again: created %v, %v", key, e.Created, err)
			}
		}
		if b.Jobs.Leased != 1 || r.Quarantined != b.Jobs.Ready+1 || b.Jobs.Ready < int64(len(before)) {
			t.Errorf("%d jobs before; in the snapshot %+v; restored %+v", len(before), b.Jobs, r)
		}
		if _, err := to.Settle(t.Context(), queue.Settlement{ID: held.Job.ID, Token: held.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone}}); !errors.Is(err, queue.ErrLeaseLost) {
			t.Errorf("an old token: %v", err)
		}
	}
	cancel()
	_ = cmd.Process.Kill()
	load.Wait()
	_ = cmd.Wait()
}

// killed runs a part until it has begun so many things, kills it at some moment
// after that, and answers what it had made by then.
func killed(t *testing.T, part, path string, begin int) (made []string) {
	t.Helper()
	cmd := child(t, part, path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		what, name, _ := strings.Cut(lines.Text(), " ")
		if what == "made" {
			made = append(made, name)
		} else if begun++; begun == begin {
			time.AfterFunc(rand.N(20*time.Millisecond), func() { _ = cmd.Process.Kill() })
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("it was not killed: %v", err)
	}
	return made
}

// After a kill at any moment there is a whole snapshot or none, and what is left
// beside it goes with the next.
func TestBackupThatIsKilled(t *testing.T) {
	t.Parallel()
	for range 10 {
		f := newFixture(t)
		if err := f.enqueues(t.Context(), 1, 1_000_000); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(f.Path())
		made := killed(t, "backup-forever", f.Path(), 2)
		there := 0
		for _, name := range names(t, dir) {
			if strings.HasPrefix(name, "snapshot-") {
				there++
				f.restores(filepath.Join(dir, name))
			}
		}
		if there < len(made) || there > len(made)+1 {
			t.Errorf("%d snapshots are there, %v were acknowledged", there, made)
		}
		if _, err := f.Backup(t.Context(), filepath.Join(dir, "last.db"), nil); err != nil {
			t.Error(err)
		}
		for _, name := range names(t, dir) {
			if strings.HasPrefix(name, ".") {
				t.Errorf("left: %s", name)
			}
		}
	}
}

func TestRestoreThatIsKilled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.enqueues(t.Context(), 1, 1_000_000); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		b := f.backs()
		dir := filepath.Dir(b.Path)
		made := killed(t, "restore-forever", b.Path, 2)
		there := 0
		for _, name := range names(t, dir) {
			if !strings.HasPrefix(name, "restored-") {
				continue
			}
			there++
			if to := f.open(filepath.Join(dir, name)); (&fixture{TB: t, Queue: to}).get(1).State != queue.StateQuarantined {
				t.Errorf("%s is not as it should be", name)
			}
			sound(t, filepath.Join(dir, name))
		}
		if there < len(made) || there > len(made)+1 {
			t.Errorf("%d queues are there, %v were acknowledged", there, made)
		}
		if _, err := sqlite.Restore(t.Context(), b.Path, filepath.Join(dir, "last.db"), f.options(), nil); err != nil {
			t.Error(err)
		}
		for _, name := range names(t, dir) {
			if strings.HasPrefix(name, ".") {
				t.Errorf("left: %s", name)
			}
		}
	}
}
