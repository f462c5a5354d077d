package sqlite_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/queuetest"
)

// step is one call of a program. It writes the call and what came of it.
type step func(*side, *answer)

// Few of everything, so that steps meet.
var (
	fewKinds = []string{"a", "b"}
	fewKeys  = []string{"1", "2", "3", "4", "5"}
	payloads = []string{`{}`, `{"n":1,"m":[1.0]}`, `{ "m":[1.0], "n":1 }`}
	lengths  = []time.Duration{time.Second, 10 * time.Second, time.Minute}
	// Times that pass: about the margins, the delays and the retentions below.
	times = []time.Duration{
		time.Millisecond, 333 * time.Microsecond, 250 * time.Millisecond, 750 * time.Millisecond, time.Second, 4 * time.Second,
		10 * time.Second, 11 * time.Second, time.Minute, time.Hour,
	}
	delays = []time.Duration{0, time.Millisecond, time.Second, 10 * time.Second, 90 * time.Second}
	rules  = []queue.UncertainRule{"", queue.UncertainAsk, queue.UncertainRepeatable, queue.UncertainJournal, queue.UncertainRetry}
	ends   = []queue.RunEnd{queue.RunDone, queue.RunRetry, queue.RunRetry, queue.RunDead, queue.RunUncertain, queue.RunQuarantine, queue.RunSnooze, queue.RunSnooze}
)

// some draws one of a few.
func some[V any](t *rapid.T, what string, of []V) V { return rapid.SampledFrom(of).Draw(t, what) }

func number(t *rapid.T, what string, least, most int) int {
	return rapid.IntRange(least, most).Draw(t, what)
}

// chosen draws a yes once in so many times.
func chosen(t *rapid.T, what string, in int) bool { return number(t, what, 1, in) == in }

// anyStep draws a step; each as often as it is listed.
var anyStep = rapid.Custom(func(t *rapid.T) step {
	return some(t, "step", []func(*rapid.T) step{
		enqueueStep, enqueueStep, enqueueStep, enqueueManyStep,
		claimStep, claimStep, claimStep, claimStep,
		settleStep, settleStep, settleStep, settleStep, settleAgainStep, snoozeStep, renewStep, renewStep,
		expireStep, timeStep, timeStep, timeStep, wallStep, reopenStep, handleStep,
		cancelStep, cancelStep, closeStep, requeueStep, requeueStep, requeueManyStep, rerunStep, noteStep,
		pauseStep, pruneStep, lookStep, lookStep, listStep,
		restoreStep,
	})(t)
})

func drawJob(t *rapid.T) queue.NewJob {
	n := queue.NewJob{
		Kind: some(t, "kind", fewKinds), Key: some(t, "key", fewKeys), Payload: jsontext.Value(some(t, "payload", payloads)),
		MaxAttempts: some(t, "limit", []int{0, 0, 0, 1, 2}), Priority: some(t, "priority", []int{0, 0, 0, 1, -1}),
	}
	if chosen(t, "due", 3) {
		n.AvailableAt = start.Add(some(t, "at", []time.Duration{-time.Minute, time.Second, 10*time.Second + 1, time.Hour}))
	}
	return n
}

func enqueueStep(t *rapid.T) step {
	n := drawJob(t)
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("q.Enqueue(%s)", jobLine(n))
		e, err := s.Enqueue(s.t.Context(), n)
		s.enqueued(a, e, err)
	}
}

func jobLine(n queue.NewJob) string {
	line := fmt.Sprintf("%s/%s %s", n.Kind, n.Key, n.Payload)
	if n.MaxAttempts > 0 {
		line += fmt.Sprintf(" MaxAttempts:%d", n.MaxAttempts)
	}
	if n.Priority != 0 {
		line += fmt.Sprintf(" Priority:%d", n.Priority)
	}
	if !n.AvailableAt.IsZero() {
		line += fmt.Sprintf(" AvailableAt:start+%v", n.AvailableAt.Sub(start))
	}
	return line
}

func enqueueManyStep(t *rapid.T) step {
	jobs := make([]queue.NewJob, number(t, "jobs", 1, 4))
	line := ""
	for i := range jobs {
		jobs[i] = drawJob(t)
		if chosen(t, "bad", 8) {
			jobs[i].Kind = "BAD"
		}
		line += "\n\t\t" + jobLine(jobs[i])
	}
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("q.EnqueueMany(%s)", line)
		results, err := s.EnqueueMany(s.t.Context(), jobs)
		a.err(err)
		for _, r := range results {
			s.enqueued(a, r.Enqueued, r.Err)
		}
	}
}

func claimStep(t *rapid.T) step {
	r := queue.ClaimRequest{
		Worker: some(t, "worker", []string{"w1", "w1", "w2"}), Lease: some(t, "lease", lengths), Most: some(t, "most", []int{0, 0, 1, 3}),
	}
	for range number(t, "wants", 1, 2) {
		w := queue.Want{Kind: some(t, "kind", []string{"", "", "a", "b"}), Max: number(t, "max", 1, 3)}
		w.Rule = queue.Rule{MaxAttempts: some(t, "limit", []int{0, 0, 2, 3}), Uncertain: some(t, "rule", rules)}
		r.Wants = append(r.Wants, w)
	}
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("q.Claim(%+v)", r)
		claimed, err := s.Claim(s.t.Context(), r)
		a.err(err)
		for _, c := range claimed {
			a.call += fmt.Sprintf("\n\t\trun%d: job %d", len(s.runs), c.Job.ID)
			s.runs = append(s.runs, c)
			s.job(a, c.Job)
			a.add("lease", []any{s.fence(c.Lease.Fence), c.Lease.Length, c.Lease.Deadline})
		}
	}
}

// runStep is a step on one of the latest runs.
func runStep(t *rapid.T, act func(s *side, a *answer, name string, c queue.Claimed)) step {
	back := some(t, "run", []int{1, 1, 1, 2, 2, 3, 5, 8})
	return func(s *side, a *answer) {
		if i := len(s.runs) - back; i >= 0 {
			act(s, a, fmt.Sprintf("run%d", i), s.runs[i])
		}
	}
}

func drawOutcome(t *rapid.T) queue.Outcome {
	o := queue.Outcome{
		Is: some(t, "is", ends), Reason: some(t, "reason", []string{"", "no", "no", "later; or never"}),
		CutShort: chosen(t, "cut short", 6), NotGiven: chosen(t, "not given", 8),
	}
	if o.Is == queue.RunDone && chosen(t, "result", 2) {
		o.Result = jsontext.Value(`{"ok":true}`)
	}
	if (o.Is == queue.RunRetry || o.Is == queue.RunSnooze) && chosen(t, "asks", 2) {
		d := some(t, "after", delays)
		o.After = &d
	}
	if chosen(t, "jitter", 4) {
		o.Backoff = queue.Backoff{Base: 3 * time.Second, Max: 20 * time.Second, Jitter: 0.5}
	}
	return o
}

func settleStep(t *rapid.T) step {
	o := drawOutcome(t)
	line := fmt.Sprintf("%s %q", o.Is, o.Reason)
	if o.After != nil {
		line += fmt.Sprintf(" After:%v", *o.After)
	}
	line += fmt.Sprintf(" Result:%s Backoff:%v CutShort:%v NotGiven:%v", o.Result, o.Backoff, o.CutShort, o.NotGiven)
	return runStep(t, func(s *side, a *answer, name string, c queue.Claimed) {
		a.call = fmt.Sprintf("q.Settle(%s, %s)", name, line)
		s.settlement(a, queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: o})
	})
}

func (s *side) settlement(a *answer, how queue.Settlement) {
	settled, err := s.Settle(s.t.Context(), how)
	s.said = append(s.said, how)
	if a.err(err) {
		return
	}
	a.says(settled.Note)
	settled.Note = ""
	a.add("settled", settled)
}

// snoozeStep is a job that its worker puts off again and again.
func snoozeStep(t *rapid.T) step {
	reasons := rapid.SliceOfN(rapid.SampledFrom([]string{"full", "full", "busy"}), 1, 3).Draw(t, "reasons")
	kind := some(t, "kind", fewKinds)
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("for reason in %v: claim one of %s, snooze it", reasons, kind)
		for _, reason := range reasons {
			claimed, err := s.Claim(s.t.Context(), queue.ClaimRequest{
				Worker: "w1", Lease: time.Second, Wants: []queue.Want{{Kind: kind, Max: 1}},
			})
			a.err(err)
			for _, c := range claimed {
				s.job(a, c.Job)
				s.settlement(a, queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunSnooze, Reason: reason}})
			}
		}
	}
}

func settleAgainStep(t *rapid.T) step {
	back := number(t, "said", 1, 3)
	return func(s *side, a *answer) {
		if i := len(s.said) - back; i >= 0 {
			a.call = fmt.Sprintf("q.Settle(the same as %d settlements ago, of job %d)", back, s.said[i].ID)
			s.settlement(a, s.said[i])
		}
	}
}

func renewStep(t *rapid.T) step {
	length := some(t, "length", lengths)
	return runStep(t, func(s *side, a *answer, name string, c queue.Claimed) {
		a.call = fmt.Sprintf("q.Renew(%s, %v)", name, length)
		renewed, err := s.Renew(s.t.Context(), []queue.Renewal{{ID: c.Job.ID, Token: c.Lease.Token, Length: length}})
		a.err(err)
		for _, r := range renewed {
			if !a.err(r.Err) {
				a.add("renewed", r)
			}
		}
	})
}

func expireStep(*rapid.T) step {
	return func(s *side, a *answer) {
		a.call = "q.Expire()"
		expired, err := s.Expire(s.t.Context())
		a.err(err)
		// Of those over for equally long any may be the first.
		slices.SortFunc(expired, func(a, b queue.Expired) int { return cmp.Compare(a.ID, b.ID) })
		for _, e := range expired {
			fence := s.fence(e.Fence)
			e.Fence = 0
			a.add("expired fence "+fence, e)
		}
	}
}

// once does on the first side what is about both.
func once(s *side, do func()) {
	if s == s.engine {
		do()
	}
}

func timeStep(t *rapid.T) step {
	d := some(t, "passes", times)
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("clock.Advance(%v)", d)
		once(s, func() { s.clock.Advance(d) })
	}
}

func wallStep(t *rapid.T) step {
	d := some(t, "step", times)
	if chosen(t, "back", 2) {
		d = -d
	}
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("clock.StepWall(%v)", d)
		once(s, func() { s.clock.StepWall(d) })
	}
}

// reopenStep closes the queue and opens it, mostly because the machine starts again.
// Another handle that is open stays so, and goes on as of the boot before: as in a
// container of its own.
func reopenStep(t *rapid.T) step {
	reboot, down := !chosen(t, "no reboot", 3), some(t, "down", times)
	return func(s *side, a *answer) {
		a.call = "q.Close(); q = open()"
		if reboot {
			a.call = fmt.Sprintf("clock.Reboot(%v); %s", down, a.call)
			once(s, func() { s.clock.Reboot(down); s.rebooted = true })
		}
		if err := s.Close(); err != nil {
			s.t.Error(err)
		}
		s.handles = s.handles[1:]
		s.open()
	}
}

// handleStep goes on with another handle on the same queue.
func handleStep(*rapid.T) step {
	return func(s *side, a *answer) {
		a.call = "q = another handle"
		if len(s.handles) < 2 {
			s.open()
			return
		}
		s.handles = []queuetest.Queue{s.handles[1], s.handles[0]}
		s.Queue = s.handles[0]
	}
}

func restoreStep(t *rapid.T) step {
	if !chosen(t, "restored", 10) {
		return timeStep(t)
	}
	return func(s *side, a *answer) {
		a.call = "q.Close(); q = open(restore(backup))"
		snapshot, b, err := s.Store.Backup(s.t.Context())
		if a.err(err) {
			return
		}
		a.add("backed up", b.Jobs)
		store, r, err := snapshot.Restore(s.t.Context())
		if a.err(err) {
			return
		}
		a.add("restored", []any{r.Jobs, r.Quarantined, r.NextID, r.TakenAt})
		s.close()
		s.Store, s.floors = store, append(s.floors, r.FenceFloor)
		s.open()
	}
}
