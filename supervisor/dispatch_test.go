package supervisor_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// TestDueWhileLookedAt: a job that becomes due just after the queue has counted
// the ready ones is neither forgotten nor left behind.
func TestDueWhileLookedAt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", "exit 0")
	q := &hooked{Queue: b.queue, agenda: func(a *queue.Agenda) error {
		if !a.NextDue.IsZero() {
			<-time.After(time.Until(a.NextDue) + time.Millisecond)
		}
		return nil
	}}
	b.enqueueWith(queue.NewJob{Kind: "k", Key: "1", Payload: []byte(`{}`), AvailableAt: time.Now().Add(500 * time.Millisecond)})
	mustNil(t, b.supervisor(func(o *options) { o.Queue, o.UntilIdle = q, true }).Run(t.Context()))
	b.expect(b.job("k", "1"), queue.StateDone)
}

// TestKindsAreLookedForAgain: a look for kinds without a handler that fails is
// told of, and repeated.
func TestKindsAreLookedForAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.enqueue("other", "1")
	var told atomic.Bool
	q := &hooked{Queue: b.queue, metrics: func() error {
		if told.Load() {
			return nil
		}
		return errors.New("disk I/O error")
	}}
	s := b.serve(func(o *options) { o.Queue = q })
	s.awaitStatus(func(st status) bool {
		return strings.Contains(st.QueueError, "kinds without a handler: disk I/O error")
	})
	told.Store(true)
	s.awaitStatus(func(st status) bool { return st.QueueError == "" && len(st.Unhandled) == 1 })
	mustNil(t, s.drain())
}
