package sqlite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// A finished job with an open effect is left, and looked at once: those that are
// open do not keep a prune from the others, however small its steps.
func TestPruneLeavesOpenEffects(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	end := func(key string, begin func(queue.Claimed)) int64 {
		f.add(newJob("a", key))
		c := f.claimOne("a", queue.Rule{})
		begin(c)
		f.settles(c, queue.Outcome{Is: queue.RunDone})
		return c.Job.ID
	}
	var open []int64
	for i := range 5 {
		open = append(open, end(fmt.Sprint("open", i), func(c queue.Claimed) {
			f.begins(c, "charge", false)
			f.begins(c, "mail", true)
		}))
	}
	repeatable := end("repeatable", func(c queue.Claimed) { f.begins(c, "mail", true) })
	settled := end("settled", func(c queue.Claimed) {
		f.begins(c, "charge", false)
		mustExec(t, raw(t, f.Path()), `UPDATE effects SET state = 2 WHERE job_id = ?`, c.Job.ID)
	})
	f.clock.Advance(time.Hour)
	p := queue.Pruning{Keep: anHour, DryRun: true}
	if got := f.prunes(p); got.Jobs != 2 {
		t.Errorf("dry run: %+v, want 2", got)
	}
	p.DryRun, p.Limit = false, 1
	for i := range 5 {
		if got := f.prunes(p); got != (queue.Pruned{More: true}) {
			t.Errorf("call %d: %+v", i+1, got)
		}
	}
	if got := f.prunesAll(p); got.Jobs != 2 {
		t.Errorf("beside the open ones: %+v", got)
	}
	if left := f.rows(repeatable, settled); left["jobs"] != 0 || left["effects"] != 0 {
		t.Errorf("left of the others: %v", left)
	}
	if got := f.stands(); !slices.Equal(got, open) {
		t.Errorf("jobs %v stand, want %v", got, open)
	}
	if got := f.prunes(p); got != (queue.Pruned{}) {
		t.Errorf("once more: %+v, want nothing looked at", got)
	}
	// What settles an effect says so. A transition does.
	mustExec(t, raw(t, f.Path()), `UPDATE effects SET state = 2 WHERE job_id = ?`, open[0])
	mustExec(t, raw(t, f.Path()), `UPDATE jobs SET kept = 0 WHERE id = ?`, open[0])
	if got := f.prunes(p); got != (queue.Pruned{Jobs: 1}) || slices.Contains(f.stands(), open[0]) {
		t.Errorf("after a receipt: %+v", got)
	}
}

// A job that was kept is looked at again once it has moved.
func TestPruneLooksAgainAfterATransition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	f.begins(c, "charge", false)
	f.settles(c, queue.Outcome{Is: queue.RunUncertain})
	if _, err := f.CloseJob(t.Context(), queue.Ref{ID: 1}, queue.Finding{As: queue.StateDead}); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Hour)
	if got := f.prunes(queue.Pruning{Keep: anHour}); got != (queue.Pruned{}) {
		t.Errorf("while it is open: %+v", got)
	}
	mustExec(t, raw(t, f.Path()), `UPDATE effects SET state = 3`)
	if _, err := f.Cancel(t.Context(), queue.Ref{ID: 1}); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(time.Hour)
	if got := f.prunes(queue.Pruning{Keep: anHour}); got != (queue.Pruned{Jobs: 1}) {
		t.Errorf("after it was cancelled: %+v", got)
	}
}
