package supervisor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
)

// children are the pids of the children that became ready in this test.
func (b *bench) children() []string {
	text, _ := os.ReadFile(filepath.Join(b.dir, "children"))
	return strings.Fields(string(text))
}

// TestLinesWarmChild: one child takes one job after another.
func TestLinesWarmChild(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "pid")
	for i := range 20 {
		b.enqueue("k", strconv.Itoa(i))
	}
	mustNil(t, b.runUntilIdle())
	pids := b.children()
	if len(pids) != 1 {
		t.Fatalf("%d children served 20 jobs, want 1", len(pids))
	}
	for i := range 20 {
		if job := b.job("k", strconv.Itoa(i)); job.State != queue.StateDone || string(job.Result) != pids[0] {
			t.Errorf("job %d is %s with result %s, want done by child %s", i, job.State, job.Result, pids[0])
		}
	}
}

// TestLinesMaxJobs: a child that has had its jobs is replaced.
func TestLinesMaxJobs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "pid").MaxJobs = 3
	for i := range 7 {
		b.enqueue("k", strconv.Itoa(i))
	}
	mustNil(t, b.runUntilIdle())
	if n := len(b.children()); n != 3 {
		t.Errorf("%d children served 7 jobs with max_jobs = 3, want 3", n)
	}
}

// TestLinesAnswerSurvivesCrash: what a child does after its answer is its own
// fault, and the next job gets a fresh child.
func TestLinesAnswerSurvivesCrash(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []string{"answers and crashes", "twice"} {
		b := newBench(t)
		b.lines("k", behaviour)
		b.enqueue("k", "1")
		s := b.serve(nil)
		first := b.awaitState("k", "1", queue.StateDone)
		s.awaitStatus(func(st status) bool {
			h := st.Handlers[0]
			return h.Ready+h.Running+h.Ending == 0
		})
		b.enqueue("k", "2")
		b.awaitState("k", "2", queue.StateDone)
		if n := len(b.children()); n != 2 {
			t.Errorf("%s: %d children, want a fresh one for the second job", behaviour, n)
		}
		if first.LastError != "" {
			t.Errorf("%s: the done job tells of %q", behaviour, first.LastError)
		}
		mustNil(t, s.drain())
	}
}

// TestLinesStartFailures: nothing is claimed for a handler that does not
// become ready, and it says why in words.
func TestLinesStartFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ behaviour, reason string }{
		{"dies before ready", "exit status 3: no module named torch"},
		{"speaks protocol 2", "it speaks protocol 2, bailiff 1"},
		{"never ready", "not ready within start_timeout = 300ms"},
	} {
		t.Run(strings.ReplaceAll(c.behaviour, " ", "-"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			h := b.lines("k", c.behaviour)
			h.Grace = 0
			if c.behaviour == "never ready" {
				h.StartTimeout = 300 * time.Millisecond
			}
			b.enqueue("k", "1")
			err := b.runUntilIdle()
			wantError(t, err, errFailing)
			if err != nil && !strings.Contains(err.Error(), c.reason) {
				t.Errorf("error %q does not tell %q", err, c.reason)
			}
			if job := b.job("k", "1"); job.State != queue.StateReady || job.Fence != 0 {
				t.Errorf("the job is %s after %d claims, want ready and never claimed", job.State, job.Fence)
			}
		})
	}
}

// TestLinesDiesUnread: a child that dies before it reads its job costs the job
// nothing.
func TestLinesDiesUnread(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "dies unread")
	b.enqueue("k", "1")
	wantError(t, b.runUntilIdle(), errFailing)
	if job := b.job("k", "1"); job.State != queue.StateReady || job.Attempt != 0 {
		t.Errorf("the job is %s after %d attempts, want ready after none", job.State, job.Attempt)
	}
}

// TestLinesDiesHalfRead: a child that has read the beginning of its job may have
// acted on it, however much of the line stands unread.
func TestLinesDiesHalfRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "acts on the beginning")
	b.enqueue("k", "1")
	mustNil(t, b.runUntilIdle())
	b.expect(b.job("k", "1"), queue.StateQuarantined, "killed by SIGKILL")
}

// TestLinesStopping: cancel first, then SIGTERM, then the kill; an answer in
// the grace counts.
func TestLinesStopping(t *testing.T) {
	t.Parallel()
	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		b.lines("k", "answers cancel").Timeout = 200 * time.Millisecond
		b.enqueue("k", "1")
		mustNil(t, b.runUntilIdle())
		b.expect(b.job("k", "1"), queue.StateScheduled, "told: ", `"type":"cancel"`, `"reason":"timeout"`, `"grace_ms":10000`)
	})
	t.Run("ignored", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		h := b.lines("k", "hangs")
		h.Timeout, h.Grace = 200*time.Millisecond, 300*time.Millisecond
		b.enqueue("k", "1")
		mustNil(t, b.runUntilIdle())
		b.expect(b.job("k", "1"), queue.StateQuarantined, "stopped at its timeout of 200ms; killed by SIGKILL without an outcome")
	})
}

// TestLinesCancel: the mark reaches the child with the next renewal.
func TestLinesCancel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Lease = config.Lease{Duration: 2 * time.Second, Renew: 200 * time.Millisecond}
	b.lines("k", "hangs").Grace = 0
	job := b.enqueue("k", "1")
	s := b.serve(nil)
	b.awaitFile("began")
	_, err := b.queue.Cancel(t.Context(), queue.Ref{ID: job.ID})
	mustNil(t, err)
	b.expect(b.awaitState("k", "1", queue.StateCancelled), queue.StateCancelled, "stopped because the job was cancelled")
	mustNil(t, s.drain())
}

// TestLinesIdleTimeout: unused children end, but those kept warm.
func TestLinesIdleTimeout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.lines("k", "done")
	h.IdleTimeout, h.Concurrency, h.Warm = 100*time.Millisecond, 3, 1
	for i := range 40 {
		b.enqueue("k", strconv.Itoa(i))
	}
	s := b.serve(nil)
	for i := range 40 {
		b.awaitState("k", strconv.Itoa(i), queue.StateDone)
	}
	s.awaitStatus(func(st status) bool {
		h := st.Handlers[0]
		return h.Ready == 1 && h.Running+h.Starting+h.Ending == 0
	})
	if n := len(b.children()); n != 3 {
		t.Errorf("%d children were started for 40 jobs, want all 3", n)
	}
	mustNil(t, s.drain())
}

// TestLinesFreshCode: a warm child started from an older file is not given
// another job.
func TestLinesFreshCode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `echo '{"type":"ready","protocol":1}'; while read -r job; do id=${job#*'"id":'}; echo "{\"type\":\"done\",\"id\":${id%%,*},\"result\":1}"; done`)
	h.Protocol = config.Lines
	b.enqueue("k", "old")
	s := b.serve(nil)
	b.awaitState("k", "old", queue.StateDone)
	text, err := os.ReadFile(h.File)
	mustNil(t, err)
	b.write(h.File, strings.ReplaceAll(string(text), `\"result\":1`, `\"result\":2`))
	b.enqueue("k", "new")
	if job := b.awaitState("k", "new", queue.StateDone); string(job.Result) != "2" {
		t.Errorf("result %s, want that of the new file", job.Result)
	}
	mustNil(t, s.drain())
}
