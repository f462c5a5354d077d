package supervisor_test

import (
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// TestStatusOfFailedRuns: a handler that starts and fails every time does not
// look healthy, not even after a reload, until a run of it is done.
func TestStatusOfFailedRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `case $BAILIFF_KEY in
retry) exit 1;;
dead) exit 65;;
uncertain) exit 76;;
snooze) echo '{"type":"snooze","after_ms":3600000}' >"$BAILIFF_OUTCOME";;
last) printf 'bo\033[2Jom\n' >&2; exit 65;;
esac`)
	fresh := b.reconfigured(func(handlers map[string]*config.Handler) {
		changed := *h
		changed.Concurrency = 2
		handlers["k"] = &changed
	})
	s := b.serve(func(o *options) { o.Load = func() (*config.Config, error) { return fresh, nil } })
	await := func(failed int, job int64) (last *supervisor.LastFailure) {
		t.Helper()
		s.awaitStatus(func(st status) bool {
			if len(st.Handlers) != 1 || st.Handlers[0].FailedInARow != failed {
				return false
			}
			last = st.Handlers[0].LastFailure
			return failed == 0 && last == nil || last != nil && last.Job == job
		})
		return last
	}
	b.enqueue("k", "retry")
	await(1, 1)
	b.enqueue("k", "dead")
	await(2, 2)
	b.enqueue("k", "uncertain")
	await(3, 3)
	b.enqueue("k", "snooze")
	b.await("k", "snooze", func(j queue.Job) bool { return j.State == queue.StateScheduled })
	s.Reload()
	s.awaitStatus(func(st status) bool { return st.Handlers[0].Slots == 2 })
	await(3, 3)
	b.enqueue("k", "last")
	last := await(4, 5)
	if last.Reason != `exit status 65; last stderr line: bo\x1b[2Jom` || last.At.IsZero() {
		t.Errorf("the last failure is %+v", last)
	}
	b.enqueue("k", "fine")
	await(0, 0)
	mustNil(t, s.drain())
}
