package supervisor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// TestLinesOutcomes drives one job through a child for every way a run can go.
func TestLinesOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		behaviour string
		state     queue.State
		reason    []string
	}{
		{"done", queue.StateDone, nil},
		{"stray", queue.StateDone, nil},
		{"twice", queue.StateDone, nil},
		{"answers and crashes", queue.StateDone, nil},
		{"floods first", queue.StateDone, nil},
		{"big result", queue.StateDone, nil},
		{"retry", queue.StateScheduled, []string{"provider is down"}},
		{"snooze", queue.StateScheduled, nil},
		{"dead", queue.StateDead, []string{"no such address"}},
		{"uncertain", queue.StateQuarantined, []string{"the line broke"}},
		{"exits without a word", queue.StateQuarantined, []string{"exit status 0 without an outcome", "last stderr line: Traceback: boom"}},
		{"killed", queue.StateQuarantined, []string{"killed by SIGKILL without an outcome"}},
		{"foreign", queue.StateQuarantined, []string{"broken protocol: done for job", "which it does not have"}},
		{"garbage", queue.StateQuarantined, []string{"broken protocol", "NaN"}},
		{"unknown type", queue.StateQuarantined, []string{"broken protocol", "finished"}},
		{"partial", queue.StateQuarantined, []string{"stdout ended within a line"}},
		{"closes stdout", queue.StateQuarantined, []string{"closed its stdout"}},
		{"effect", queue.StateDead, []string{`"type":"refused"`, "no effect journal"}},
		{"receipt", queue.StateQuarantined, []string{`receipt for the effect "charge", which was never begun`}},
	} {
		t.Run(strings.ReplaceAll(c.behaviour, " ", "-"), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			h := b.lines("k", c.behaviour)
			h.Grace = 200 * time.Millisecond
			b.enqueue("k", "1")
			mustNil(t, b.runUntilIdle())
			job := b.job("k", "1")
			b.expect(job, c.state, c.reason...)
			if job.Fence != 1 {
				t.Errorf("the job had %d runs, want 1", job.Fence)
			}
		})
	}
}
