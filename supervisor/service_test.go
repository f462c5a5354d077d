package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

type (
	options = supervisor.Options
	status  = supervisor.Status
)

// TestDrain: the running job ends by itself, the waiting one is not touched.
func TestDrain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", `echo up >"$DIR/up"; while [ ! -s "$DIR/go" ]; do sleep 0.02; done`).Env = map[string]string{"DIR": b.dir}
	b.enqueue("k", "1")
	b.enqueue("k", "2")
	s := b.serve(nil)
	b.awaitFile("up")
	s.Drain()
	mustNil(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("go"), 0o600))
	mustNil(t, <-s.done)
	b.expect(b.job("k", "1"), queue.StateDone)
	if job := b.job("k", "2"); job.State != queue.StateReady || job.Fence != 0 {
		t.Errorf("the waiting job is %s after %d claims, want ready and untouched", job.State, job.Fence)
	}
}

// TestDrainTimeOver: what still runs is stopped; for a repeatable handler that
// uses up no attempt, for another nobody knows.
func TestDrainTimeOver(t *testing.T) {
	t.Parallel()
	for _, repeatable := range []bool{true, false} {
		b := newBench(t)
		b.config.Shutdown.Drain = 100 * time.Millisecond
		h := b.script("k", `echo up >"$DIR/up"; sleep 600`)
		h.Env, h.Repeatable = map[string]string{"DIR": b.dir}, repeatable
		b.enqueue("k", "1")
		s := b.serve(nil)
		b.awaitFile("up")
		mustNil(t, s.drain())
		job := b.job("k", "1")
		if repeatable {
			b.expect(job, queue.StateReady, "interrupted by shutdown")
			if job.Attempt != 0 {
				t.Errorf("%d attempts were used up, want none", job.Attempt)
			}
			continue
		}
		b.expect(job, queue.StateQuarantined, "interrupted by shutdown")
	}
}

// TestAbort: every tree is killed at once and everything is recorded.
func TestAbort(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `trap '' TERM; sleep 600 & echo $! >"$DIR/up"; wait; sleep 600`)
	h.Env = map[string]string{"DIR": b.dir}
	b.lines("l", "hangs")
	b.enqueue("k", "1")
	b.enqueue("l", "1")
	s := b.serve(nil)
	grandchild, _ := strconv.Atoi(strings.TrimSpace(b.awaitFile("up")))
	b.awaitFile("began")
	s.Drain()
	s.Abort()
	wantError(t, <-s.done, supervisor.ErrAborted)
	b.expect(b.job("k", "1"), queue.StateQuarantined, "killed at once by shutdown")
	b.expect(b.job("l", "1"), queue.StateQuarantined, "killed at once by shutdown")
	if alive(grandchild) {
		t.Errorf("the grandchild %d outlives the service", grandchild)
	}
}

// TestContextEnd: the end of the context is an abort.
func TestContextEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "hangs")
	b.enqueue("k", "1")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.supervisor(nil).Run(ctx) }()
	b.awaitFile("began")
	cancel()
	wantError(t, <-done, supervisor.ErrAborted)
	b.expect(b.job("k", "1"), queue.StateQuarantined, "killed at once by shutdown")
}

// faulty is a queue whose renewals a test can break.
type faulty struct {
	*sqlite.Queue
	renew func(context.Context, []queue.Renewal) ([]queue.Renewed, error)
}

func (f *faulty) Renew(ctx context.Context, list []queue.Renewal) ([]queue.Renewed, error) {
	return f.renew(ctx, list)
}

// TestLeaseLost: a lease that cannot be renewed kills its child before its
// deadline, whether the renewal fails or hangs, and nothing is recorded.
func TestLeaseLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		renew func(context.Context, []queue.Renewal) ([]queue.Renewed, error)
	}{
		{"fails", func(context.Context, []queue.Renewal) ([]queue.Renewed, error) { return nil, queue.ErrBusy }},
		{"hangs", func(ctx context.Context, _ []queue.Renewal) ([]queue.Renewed, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	} {
		for _, kind := range []string{"plain", "lines"} {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.config.Lease = config.Lease{Duration: time.Second, Renew: 300 * time.Millisecond}
				b.lines("lines", "hangs")
				b.script("plain", `trap '' TERM; echo up >"$DIR/began"; sleep 600; sleep 600`).Env = map[string]string{"DIR": b.dir}
				b.enqueue(kind, "1")
				sup := b.supervisor(func(o *options) { o.Queue = &faulty{b.queue, c.renew} })
				result, err := sup.RunOne(t.Context())
				mustNil(t, err)
				if result.Outcome != supervisor.OneLeaseLost || !result.ExternalEffectsPossible {
					t.Errorf("outcome %s, effects possible %v; want lease_lost, true", result.Outcome, result.ExternalEffectsPossible)
				}
				b.awaitFile("began")
				history, err := b.queue.History(t.Context(), 1, 0)
				mustNil(t, err)
				for _, entry := range history {
					if entry.Event != queue.EventEnqueue && entry.Event != queue.EventClaim && entry.Event != queue.EventExpire {
						t.Errorf("history has %s: %s", entry.Event, entry.Detail)
					}
				}
			})
		}
	}
}

// TestLeaseKept: a job outlives its first lease many times over while the
// children keep the processors busy.
func TestLeaseKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Lease = config.Lease{Duration: 2 * time.Second, Renew: 600 * time.Millisecond}
	h := b.script("k", `end=$(($(date +%s) + 4)); while [ $(date +%s) -lt $end ]; do :; done`)
	h.Concurrency = 4
	for i := range 4 {
		b.enqueue("k", strconv.Itoa(i))
	}
	mustNil(t, b.runUntilIdle())
	for i := range 4 {
		if job := b.job("k", strconv.Itoa(i)); job.State != queue.StateDone || job.Fence != 1 {
			t.Errorf("job %d is %s after %d runs, want done after 1", i, job.State, job.Fence)
		}
	}
}

// TestUnknownKind: a job nobody handles waits, and status tells.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", "exit 0")
	b.enqueue("k", "1")
	b.enqueue("other", "1")
	told := make(chan supervisor.UnhandledKind, 1)
	s := b.serve(func(o *options) {
		o.OnStatus = func(st status) {
			for _, u := range st.Unhandled {
				select {
				case told <- u:
				default:
				}
			}
		}
	})
	if u := <-told; u.Kind != "other" || u.Waiting != 1 {
		t.Errorf("unhandled %+v, want one job of kind other", u)
	}
	b.awaitState("k", "1", queue.StateDone)
	mustNil(t, s.drain())
	if job := b.job("other", "1"); job.State != queue.StateReady || job.Attempt != 0 {
		t.Errorf("the job of no handler is %s after %d attempts", job.State, job.Attempt)
	}
}

// TestConcurrency: never more runs at a time than slots, and each job once.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `mkdir "$DIR/running.$$"; ls -d "$DIR"/running.* | wc -l >>"$DIR/counts"; sleep 0.02; rmdir "$DIR/running.$$"`)
	h.Env, h.Concurrency = map[string]string{"DIR": b.dir}, 3
	for i := range 30 {
		b.enqueue("k", strconv.Itoa(i))
	}
	mustNil(t, b.runUntilIdle())
	counts := strings.Fields(b.awaitFile("counts"))
	if len(counts) != 30 {
		t.Errorf("%d runs of 30 jobs", len(counts))
	}
	for _, n := range counts {
		if n > "3" {
			t.Errorf("%s runs at a time, want at most 3", n)
		}
	}
}

// TestSlotsComeBack: deaths of all sorts leave the one slot usable.
func TestSlotsComeBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `case $BAILIFF_KEY in kill*) kill -9 $$;; seg*) kill -SEGV $$;; dead*) exit 65;; left*) sleep 600 & exit 1;; esac`)
	h.Grace = 0
	deaths := []string{"kill", "seg", "dead", "left"}
	for i := range 12 {
		b.enqueue("k", fmt.Sprint(deaths[i%4], i))
	}
	for i := range 5 {
		b.enqueue("k", fmt.Sprint("fine", i))
	}
	mustNil(t, b.runUntilIdle())
	for i := range 5 {
		b.expect(b.job("k", fmt.Sprint("fine", i)), queue.StateDone)
	}
}

// TestScheduledJobWakes: a job due later starts when it is due, without help.
func TestScheduledJobWakes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", "exit 0")
	s := b.serve(nil)
	due := time.Now().Add(700 * time.Millisecond)
	b.enqueueWith(queue.NewJob{Kind: "k", Key: "1", Payload: []byte(`{}`), AvailableAt: due})
	if job := b.awaitState("k", "1", queue.StateDone); job.FinishedAt.Before(due.Truncate(time.Millisecond)) {
		t.Errorf("finished at %v, before it was due at %v", job.FinishedAt, due)
	}
	mustNil(t, s.drain())
}

// TestExpiresForeignLeases: a lease that another worker left behind is expired
// when its time has come, although nothing else happens.
func TestExpiresForeignLeases(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", "exit 0")
	b.enqueue("k", "1")
	_, err := b.queue.Claim(t.Context(), queue.ClaimRequest{
		Worker: "gone", Lease: time.Second,
		Wants: []queue.Want{{Kind: "k", Max: 1, Rule: queue.Rule{MaxAttempts: 5, Uncertain: queue.UncertainRepeatable}}},
	})
	mustNil(t, err)
	s := b.serve(nil)
	if job := b.awaitState("k", "1", queue.StateDone); job.Fence != 2 {
		t.Errorf("done by run %d, want the second", job.Fence)
	}
	mustNil(t, s.drain())
}

// TestStatusOfARun: what a running job shows.
func TestStatusOfARun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "progress").Timeout = time.Hour
	b.enqueue("k", "1")
	seen := make(chan supervisor.RunStatus, 1)
	s := b.serve(func(o *options) {
		o.OnStatus = func(st status) {
			for _, r := range st.Running {
				if r.Percent != nil {
					select {
					case seen <- r:
					default:
					}
				}
			}
		}
	})
	r := <-seen
	if r.Kind != "k" || r.Key != "1" || r.Fence != 1 || r.Attempt != 1 || r.PID == 0 || *r.Percent != 40 || r.Message != `pass 1\x1b[2J` {
		t.Errorf("status shows %+v (%v %%)", r, *r.Percent)
	}
	if r.TimeoutAt.Sub(r.Since) < 59*time.Minute {
		t.Errorf("timeout at %v of a run since %v", r.TimeoutAt, r.Since)
	}
	s.Abort()
	wantError(t, <-s.done, supervisor.ErrAborted)
}
