package supervisor_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// failing reports whether the only handler does not start.
func failing(st status) bool { return len(st.Handlers) == 1 && st.Handlers[0].Failing != "" }

// TestMendedHandlerHasAllItsSlots: once a handler that did not start does, its
// other slots wait neither for the run that found it out nor for one that had
// begun before.
func TestMendedHandlerHasAllItsSlots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `echo up >"$DIR/began.$BAILIFF_KEY"; while [ ! -s "$DIR/go" ]; do sleep 0.02; done`)
	h.Env, h.Concurrency = map[string]string{"DIR": b.dir}, 3
	b.enqueue("k", "before")
	s := b.serve(nil)
	b.awaitFile("began.before")
	mustNil(t, os.Chmod(h.File, 0o600))
	b.enqueue("k", "trial")
	s.awaitStatus(failing)
	b.enqueue("k", "other")
	mustNil(t, os.Chmod(h.File, 0o700))
	b.awaitFile("began.trial")
	b.awaitFile("began.other")
	for _, key := range []string{"before", "trial", "other"} {
		b.expect(b.job("k", key), queue.StateLeased) // all three at a time
	}
	s.awaitStatus(func(st status) bool { return !failing(st) })
	mustNil(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("go"), 0o600))
	for _, key := range []string{"before", "trial", "other"} {
		b.awaitState("k", key, queue.StateDone)
	}
	mustNil(t, s.drain())
}

// TestNotStartedTooLate: a process that could not be started yet is not started
// any more once its job must not be handed over, and that is no fault of the
// handler.
func TestNotStartedTooLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		renew  error // instead of a renewal
		happen func(*bench, *service)
		end    error       // of the service, drained then
		state  queue.State // empty: somebody else's to say
		reason string
	}{
		{"lease lost", queue.ErrBusy, func(*bench, *service) {}, nil, "", ""},
		{"cancelled", nil, func(b *bench, _ *service) {
			_, err := b.queue.Cancel(b.Context(), queue.Ref{Kind: "k", Key: "1"})
			mustNil(b, err)
		}, nil, queue.StateCancelled, "cancelled the job before it was handed over"},
		{"aborted", nil, func(_ *bench, s *service) { s.Abort() }, supervisor.ErrAborted, queue.StateReady, "the service stops"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.config.Lease = config.Lease{Duration: 2 * time.Second, Renew: 300 * time.Millisecond}
			h := b.script("k", `echo up >"$DIR/began"`)
			h.Env = map[string]string{"DIR": b.dir}
			writer, err := os.OpenFile(h.File, os.O_WRONLY, 0) // keeps the system from executing it
			mustNil(t, err)
			defer func() { _ = writer.Close() }()
			held := make(chan struct{}, 1)
			q := &hooked{Queue: b.queue, renew: func() error {
				select {
				case held <- struct{}{}:
				default:
				}
				return c.renew
			}}
			b.enqueue("k", "1")
			s := b.serve(func(o *options) { o.Queue = q })
			<-held
			c.happen(b, s)
			s.Drain()
			wantError(t, <-s.done, c.end)
			if st := s.Status(); failing(st) {
				t.Errorf("the handler counts as failing: %s", st.Handlers[0].Failing)
			}
			if c.state != "" {
				b.expect(b.job("k", "1"), c.state, c.reason)
			}
			if _, err := os.Stat(filepath.Join(b.dir, "began")); err == nil {
				t.Error("it was started")
			}
		})
	}
}
