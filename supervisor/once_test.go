package supervisor_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
)

// TestRunOne: one job, and how its run ended.
func TestRunOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body string
		want supervisor.OneOutcome
	}{
		{"exit 0", supervisor.OneCompleted},
		{"exit 1", supervisor.OneRetryScheduled},
		{"exit 65", supervisor.OneDead},
		{"exit 76", supervisor.OneQuarantined},
		{`echo '{"type":"snooze","after_ms":60000}' >"$BAILIFF_OUTCOME"`, supervisor.OneSnoozed},
	} {
		b := newBench(t)
		b.script("k", c.body)
		first, second := b.enqueue("k", "1"), b.enqueue("k", "2")
		result, err := b.supervisor(nil).RunOne(t.Context())
		mustNil(t, err)
		if result.Outcome != c.want || result.ID != first.ID || result.Kind != "k" || result.Key != "1" {
			t.Errorf("%s: %+v, want %s of job %d", c.body, result, c.want, first.ID)
		}
		if job := b.job("k", "2"); job.State != queue.StateReady {
			t.Errorf("%s: job %d is %s, want it untouched", c.body, second.ID, job.State)
		}
	}
}

// TestRunOneOrder: the job that comes first of all kinds is run, in whichever
// order the kinds stand, past a handler that does not start.
func TestRunOneOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("a", "exit 0")
	b.lines("b", "done")
	b.lines("c", "dies before ready")
	b.enqueue("a", "low")
	b.enqueueWith(queue.NewJob{Kind: "b", Key: "high", Payload: []byte("{}"), Priority: 10})
	b.enqueueWith(queue.NewJob{Kind: "c", Key: "highest", Payload: []byte("{}"), Priority: 20})
	for _, key := range []string{"high", "low"} {
		result, err := b.supervisor(nil).RunOne(t.Context())
		mustNil(t, err)
		if result.Key != key || result.Outcome != supervisor.OneCompleted {
			t.Errorf("%s/%s %s, want %s completed", result.Kind, result.Key, result.Outcome, key)
		}
	}
	_, err := b.supervisor(nil).RunOne(t.Context())
	wantError(t, err, errFailing)
}

// TestRunOneOutrun: while others are quicker but jobs wait, it is not idle.
func TestRunOneOutrun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", "exit 0")
	b.enqueue("k", "1")
	claims := 0
	q := &outrun{Queue: b.queue, claims: &claims}
	result, err := b.supervisor(func(o *options) { o.Queue = q }).RunOne(t.Context())
	mustNil(t, err)
	if result.Outcome != supervisor.OneCompleted || claims != 2 {
		t.Errorf("%s after %d claims, want completed after 2", result.Outcome, claims)
	}
}

// outrun is a queue whose first claim comes too late.
type outrun struct {
	*sqlite.Queue
	claims *int
}

func (o *outrun) Claim(ctx context.Context, r queue.ClaimRequest) ([]queue.Claimed, error) {
	if *o.claims++; *o.claims == 1 {
		return nil, nil
	}
	return o.Queue.Claim(ctx, r)
}

func TestRunOneLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "done")
	b.enqueue("k", "1")
	result, err := b.supervisor(nil).RunOne(t.Context())
	mustNil(t, err)
	if result.Outcome != supervisor.OneCompleted {
		t.Errorf("outcome %s, want completed", result.Outcome)
	}
}

func TestRunOneIdle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.script("k", "exit 0")
	result, err := b.supervisor(nil).RunOne(t.Context())
	mustNil(t, err)
	if result.Outcome != supervisor.OneIdle || result.ID != 0 {
		t.Errorf("%+v, want idle", result)
	}
}

func TestRunOneStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "never ready")
	b.enqueue("k", "1")
	s := b.supervisor(nil)
	s.Drain()
	result, err := s.RunOne(t.Context())
	mustNil(t, err)
	if result.Outcome != supervisor.OneStopped {
		t.Errorf("outcome %s, want stopped", result.Outcome)
	}
}

func TestRunOneFailing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("k", "dies before ready")
	b.enqueue("k", "1")
	_, err := b.supervisor(nil).RunOne(t.Context())
	wantError(t, err, errFailing)
	if job := b.job("k", "1"); job.Fence != 0 {
		t.Errorf("the job was claimed %d times for a handler that does not start", job.Fence)
	}
}

// TestTry: the conversation is shown, in both protocols, and nothing reaches a
// terminal unescaped.
func TestTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plain := b.script("p", `cat; printf 'warn\033[2J\n' >&2; [ "$BAILIFF_KEY" = try ]`)
	lines := b.lines("l", "retry")
	failing := b.lines("f", "dies before ready")
	for _, c := range []struct {
		name string
		opt  supervisor.TryOptions
		is   queue.RunEnd
		show []string
	}{
		{"plain", supervisor.TryOptions{Handler: plain, Payload: []byte(`{"a":1}`)}, queue.RunDone,
			[]string{`→ {"a":1}`, `← {"a":1}`, `! warn\x1b[2J`, "would be recorded", "done, with a result of 7 bytes"}},
		{"lines", supervisor.TryOptions{Handler: lines}, queue.RunRetry,
			[]string{`← {"type":"ready"`, `→ {"type":"job","id":1,"kind":"l","key":"try"`, `← {"type":"retry"`, "retry after 1m0s: provider is down"}},
		{"failing", supervisor.TryOptions{Handler: failing}, queue.RunSnooze,
			[]string{"! no module named torch", "the handler does not start", "exit status 3"}},
	} {
		var out bytes.Buffer
		c.opt.Out = &out
		v, err := supervisor.Try(t.Context(), c.opt)
		mustNil(t, err)
		if v.Outcome.Is != c.is {
			t.Errorf("%s: verdict %s, want %s", c.name, v.Outcome.Is, c.is)
		}
		for _, words := range c.show {
			if !strings.Contains(out.String(), words) {
				t.Errorf("%s: %q is not shown in:\n%s", c.name, words, &out)
			}
		}
	}
}
