package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// lastWord is a queue that answers, from a moment on, that it cannot be used any
// more. Which of its calls answers so first is the test's to say.
type lastWord struct {
	hooked
	word atomic.Pointer[error]
}

func (l *lastWord) speak(err error) { l.word.Store(&err) }

func (l *lastWord) spoken() error {
	if word := l.word.Load(); word != nil {
		return *word
	}
	return nil
}

// TestQueueLost: whichever call hears the queue's last word, everything is killed
// at once, without a ladder, and nothing is recorded.
func TestQueueLost(t *testing.T) {
	t.Parallel()
	for hearer, word := range map[string]error{
		"dispatcher": fmt.Errorf("agenda: %w: %w", queue.ErrClosed, queue.ErrMoved),
		"keeper":     fmt.Errorf("renew: %w", queue.ErrNotOurs),
		"recorder":   fmt.Errorf("settle: %w", queue.ErrClosed),
		"listener":   fmt.Errorf("agenda: %w: %w", queue.ErrClosed, queue.ErrMoved),
	} {
		t.Run(hearer, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.config.Lease = config.Lease{Duration: time.Hour, Renew: 30 * time.Minute}
			if hearer == "keeper" {
				b.config.Lease.Renew = 20 * time.Millisecond
			}
			b.script("k", `trap 'echo >"$DIR/told"' TERM; sleep 600 & echo $! >"$DIR/up"; wait; sleep 600`).Env = map[string]string{"DIR": b.dir}
			b.lines("l", "hangs")
			b.script("short", `until [ -s "$DIR/go" ]; do sleep 0.02; done`).Env = map[string]string{"DIR": b.dir}
			ids := []int64{b.enqueue("k", "1").ID, b.enqueue("l", "1").ID}
			q := &lastWord{hooked: hooked{Queue: b.queue}}
			changes := make(chan struct{}, 1)
			q.changes = changes
			switch hearer {
			case "dispatcher", "listener":
				q.agenda = func(*queue.Agenda) error { return q.spoken() }
			case "keeper":
				q.renew = q.spoken
			case "recorder":
				q.settle = q.spoken
				ids = append(ids, b.enqueue("short", "1").ID)
			}
			s := b.serve(func(o *options) { o.Queue = q })
			grandchild, _ := strconv.Atoi(strings.TrimSpace(b.awaitFile("up")))
			b.awaitFile("began")
			s.awaitStatus(func(st status) bool {
				return len(st.Running) == len(ids) && !slices.ContainsFunc(st.Running, func(r supervisor.RunStatus) bool { return r.PID == 0 })
			})
			if hearer == "listener" {
				s.Drain() // nobody claims any more
			}
			q.speak(word)
			close(changes)
			mustNil(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("go"), 0o600))

			err := <-s.done
			var lost *supervisor.QueueLost
			if !errors.As(err, &lost) || !errors.Is(err, errors.Unwrap(word)) && !errors.Is(err, queue.ErrMoved) {
				t.Fatalf("ended with %v, want a QueueLost of %v", err, word)
			}
			if len(lost.Stopped) != len(ids) {
				t.Errorf("stopped %+v, want %d runs", lost.Stopped, len(ids))
			}
			for i, r := range lost.Stopped {
				if r.ID != ids[i] || r.PID == 0 {
					t.Errorf("stopped %+v, want job %d and its pid", r, ids[i])
				}
			}
			if alive(grandchild) {
				t.Errorf("the grandchild %d outlives the service", grandchild)
			}
			if _, err := os.Stat(filepath.Join(b.dir, "told")); err == nil {
				t.Error("the child was asked to end before it was killed")
			}
			for _, id := range ids {
				job, err := b.queue.Get(context.Background(), queue.Ref{ID: id})
				mustNil(t, err)
				if job.State != queue.StateLeased || job.Fence != 1 {
					t.Errorf("%s/%s is %s after run %d, want leased by the first", job.Kind, job.Key, job.State, job.Fence)
				}
			}
		})
	}
}

// TestQueueLostAtOnce: RunOne says so too, and what it knows of its job.
func TestQueueLostAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("l", "hangs")
	b.enqueue("l", "1")
	q := &lastWord{hooked: hooked{Queue: b.queue}}
	changes := make(chan struct{}, 1)
	q.changes, q.agenda = changes, func(*queue.Agenda) error { return q.spoken() }
	go func() {
		b.awaitFile("began")
		q.speak(queue.ErrMoved)
		close(changes)
	}()
	result, err := b.supervisor(func(o *options) { o.Queue = q }).RunOne(t.Context())
	wantError(t, err, queue.ErrMoved)
	if result.Outcome != supervisor.OneLeaseLost || !result.ExternalEffectsPossible {
		t.Errorf("result %+v, want lease_lost with possible effects", result)
	}
}

// TestKeeperHoldsNothingAfterwards: a claim that was answered just as the queue was
// lost is lost as well.
func TestKeeperHoldsNothingAfterwards(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(time.Unix(1_800_000_000, 0))
	k := supervisor.NewKeeper(nil, c)
	var killed []int64
	k.Hold(claimed(c, 1, time.Hour), time.Minute, func() { killed = append(killed, 1) })
	k.LoseAll("gone")
	k.Hold(claimed(c, 2, time.Hour), time.Minute, func() { killed = append(killed, 2) })
	if len(killed) != 2 {
		t.Errorf("killed %v, want both", killed)
	}
}

// TestCancelAtOnce: the mark reaches a running job long before its lease is
// renewed, while jobs are claimed and while the service drains.
func TestCancelAtOnce(t *testing.T) {
	t.Parallel()
	for _, draining := range []bool{false, true} {
		b := newBench(t)
		b.config.Lease = config.Lease{Duration: 2 * time.Hour, Renew: time.Hour}
		b.config.Shutdown.Drain = time.Hour
		b.script("k", `echo up >"$DIR/up"; sleep 600`).Env = map[string]string{"DIR": b.dir}
		job := b.enqueue("k", "1")
		var marked atomic.Bool
		q := &hooked{Queue: b.queue, agenda: func(a *queue.Agenda) error {
			if marked.Load() {
				a.Cancelled = []int64{job.ID + 1, job.ID}
			}
			return nil
		}}
		s := b.serve(func(o *options) { o.Queue = q })
		b.awaitFile("up")
		if draining {
			s.Drain()
		}
		marked.Store(true)
		_, err := b.queue.Cancel(t.Context(), queue.Ref{ID: job.ID})
		mustNil(t, err)
		b.expect(b.awaitState("k", "1", queue.StateCancelled), queue.StateCancelled)
		mustNil(t, s.drain())
	}
}
