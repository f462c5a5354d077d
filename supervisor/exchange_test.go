package supervisor_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
)

// TestLinesLateOutcome: what a child says before it has read its job is about an
// earlier run of it, and decides nothing: the job is not given to that child.
func TestLinesLateOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "says it twice, late")
	b.enqueue("k", "1")
	mustNil(t, b.runUntilIdle())
	job := b.job("k", "1")
	b.expect(job, queue.StateDone)
	if job.Fence != 3 || job.Attempt != 2 {
		t.Errorf("done by run %d, attempt %d; want the third run, of which the second was given back", job.Fence, job.Attempt)
	}
	history, err := b.queue.History(t.Context(), job.ID, 0)
	mustNil(t, err)
	told := ""
	for _, entry := range history {
		told += entry.Detail + "\n"
	}
	if want := "before it had read the job: retry for job 1 before it had read that job"; !strings.Contains(told, want) {
		t.Errorf("history does not tell %q:\n%s", want, told)
	}
	if strings.Contains(told, "the late one") {
		t.Errorf("the late outcome was recorded:\n%s", told)
	}
}

// TestLinesClosedStdin: a child that has read its job need not read on. That it
// cannot be asked to stop does not cost it its grace, nor its answer.
func TestLinesClosedStdin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.lines("k", "closes stdin, answers SIGTERM")
	h.Timeout, h.Grace = 200*time.Millisecond, 3*time.Second
	b.enqueue("k", "1")
	mustNil(t, b.runUntilIdle())
	b.expect(b.job("k", "1"), queue.StateDead, "stopped at its timeout of 200ms; told by SIGTERM")
}

// TestLinesCrowded: a job that cannot be sent to its child is given back, and
// the child ends.
func TestLinesCrowded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e, ended := supervisor.ConverseCrowded(b.lines("k", "never ready"))
	v := supervisor.Judge(e)
	if v.Row != 2 || !v.Outcome.NotGiven || !strings.Contains(v.Reason, "it does not read its stdin") {
		t.Errorf("row %d, not given %v: %q", v.Row, v.Outcome.NotGiven, v.Reason)
	}
	if !ended {
		t.Error("the child lives on")
	}
}

// overdrawn is a queue whose claims of one key come when their lease is over,
// and that renews nothing.
type overdrawn struct {
	*sqlite.Queue
	clock queue.Clock
	key   string
	seen  atomic.Bool
}

func (o *overdrawn) Claim(ctx context.Context, r queue.ClaimRequest) ([]queue.Claimed, error) {
	claimed, err := o.Queue.Claim(ctx, r)
	for i := range claimed {
		if claimed[i].Job.Key == o.key {
			claimed[i].Lease.Deadline = o.clock.Mono()
			o.seen.Store(true)
		}
	}
	return claimed, err
}

func (o *overdrawn) Renew(context.Context, []queue.Renewal) ([]queue.Renewed, error) {
	return nil, queue.ErrBusy
}

// TestLinesLostBeforeHandedOver: a lease that is lost before its job was handed
// over costs no warm child.
func TestLinesLostBeforeHandedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "pid")
	b.enqueue("k", "1")
	q := &overdrawn{Queue: b.queue, clock: b.clock, key: "2"}
	s := b.serve(func(o *options) { o.Queue = q })
	b.awaitState("k", "1", queue.StateDone)
	b.enqueue("k", "2")
	s.awaitStatus(func(st status) bool { return q.seen.Load() && len(st.Running) == 0 && st.Handlers[0].Ready == 1 })
	b.enqueue("k", "3")
	b.awaitState("k", "3", queue.StateDone)
	if pids := b.children(); len(pids) != 1 {
		t.Errorf("%d children, want the first to serve the third job too", len(pids))
	}
	mustNil(t, s.drain())
}
