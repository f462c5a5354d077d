package sqlite_test

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/b1213022/bailiff/queue"
)

// refStep is a step on a job that may be there, named by its id or by its key.
func refStep(t *rapid.T, act func(s *side, a *answer, ref queue.Ref)) step {
	ref := queue.Ref{Kind: some(t, "kind", fewKinds), Key: some(t, "key", fewKeys)}
	byID := chosen(t, "by id", 3)
	nth := number(t, "nth", 1, 6)
	return func(s *side, a *answer) {
		if byID && nth <= len(s.ids) {
			ref = queue.Ref{ID: s.ids[len(s.ids)-nth]}
		}
		act(s, a, ref)
	}
}

func (s *side) changed(a *answer, j queue.Job, err error) {
	if !a.err(err) {
		s.job(a, j)
	}
}

func cancelStep(t *rapid.T) step {
	return refStep(t, func(s *side, a *answer, ref queue.Ref) {
		a.call = fmt.Sprintf("q.Cancel(%s)", ref)
		j, err := s.Cancel(s.t.Context(), ref)
		s.changed(a, j, err)
	})
}

func closeStep(t *rapid.T) step {
	f := queue.Finding{As: some(t, "as", []queue.State{queue.StateDone, queue.StateDead, queue.StateCancelled}), Note: some(t, "note", []string{"", "seen"})}
	if f.As == queue.StateDone && chosen(t, "result", 2) {
		f.Result = jsontext.Value(`"found"`)
	}
	return refStep(t, func(s *side, a *answer, ref queue.Ref) {
		a.call = fmt.Sprintf("q.CloseJob(%s, %+v)", ref, f)
		j, err := s.CloseJob(s.t.Context(), ref, f)
		s.changed(a, j, err)
	})
}

func drawRequeue(t *rapid.T) queue.Requeue {
	return queue.Requeue{Reviewed: !chosen(t, "unreviewed", 3), Delay: some(t, "delay", []time.Duration{0, 0, time.Second, 10 * time.Second})}
}

func requeueStep(t *rapid.T) step {
	r := drawRequeue(t)
	return refStep(t, func(s *side, a *answer, ref queue.Ref) {
		a.call = fmt.Sprintf("q.Requeue(%s, %+v)", ref, r)
		j, err := s.Requeue(s.t.Context(), ref, r)
		s.changed(a, j, err)
	})
}

func requeueManyStep(t *rapid.T) step {
	r := queue.RequeueMany{
		Filter: drawFilter(t), Requeue: drawRequeue(t),
		Spacing: some(t, "spacing", []time.Duration{0, time.Second}), DryRun: chosen(t, "dry", 4),
	}
	r.Filter.Stuck = false
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("q.RequeueMany(%+v)", r)
		many, err := s.RequeueMany(s.t.Context(), r)
		a.err(err)
		a.add("more", many.More)
		for _, j := range many.Jobs {
			a.err(j.Err)
			s.job(a, j.Job)
		}
	}
}

func rerunStep(t *rapid.T) step {
	r := queue.Rerun{Key: some(t, "new key", fewKeys), Reviewed: !chosen(t, "unreviewed", 3)}
	return refStep(t, func(s *side, a *answer, ref queue.Ref) {
		a.call = fmt.Sprintf("q.Rerun(%s, %+v)", ref, r)
		e, err := s.Rerun(s.t.Context(), ref, r)
		s.enqueued(a, e, err)
	})
}

func noteStep(t *rapid.T) step {
	past := number(t, "past", -1, 1)
	return runStep(t, func(s *side, a *answer, name string, c queue.Claimed) {
		a.call = fmt.Sprintf("q.Note(%s, fence%+d)", name, past)
		a.err(s.Note(s.t.Context(), c.Job.ID, c.Lease.Fence+int64(past), "late"))
	})
}

func pauseStep(t *rapid.T) step {
	kind, paused := some(t, "kind", fewKinds), chosen(t, "paused", 2)
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("q.Pause(%s, %v)", kind, paused)
		a.err(s.Pause(s.t.Context(), kind, paused))
	}
}

func pruneStep(t *rapid.T) step {
	keep := []time.Duration{0, time.Millisecond, time.Second, time.Minute}
	p := queue.Pruning{
		Keep: queue.Retention{Done: some(t, "done", keep), Dead: some(t, "dead", keep), Cancelled: some(t, "cancelled", keep)},
		Kind: some(t, "kind", []string{"", "", "a"}), Limit: some(t, "limit", []int{0, 0, 1}), DryRun: chosen(t, "dry", 4),
	}
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("q.Prune(%+v)", p)
		pruned, err := s.Prune(s.t.Context(), p)
		a.err(err)
		a.add("pruned", []any{pruned.Jobs, pruned.More})
	}
}

func lookStep(t *rapid.T) step {
	which := some(t, "at", []string{"metrics", "agenda", "get"})
	kind := some(t, "kind", fewKinds)
	look := refStep(t, func(s *side, a *answer, ref queue.Ref) {
		a.call = fmt.Sprintf("q.Get(%s)", ref)
		j, err := s.Get(s.t.Context(), ref)
		s.changed(a, j, err)
	})
	return func(s *side, a *answer) {
		switch which {
		case "metrics":
			a.call = "q.Metrics()"
			m, err := s.Metrics(s.t.Context())
			a.err(err)
			a.add("metrics", m)
		case "agenda":
			a.call = fmt.Sprintf("q.Agenda(%s)", kind)
			agenda, err := s.Agenda(s.t.Context(), []string{kind})
			a.err(err)
			a.add("agenda", agenda)
		case "get":
			look(s, a)
		}
	}
}

func drawFilter(t *rapid.T) queue.Filter {
	f := queue.Filter{
		Kind: some(t, "kind", []string{"", "", "a"}), KeyPrefix: some(t, "prefix", []string{"", "", "", "1"}),
		OlderThan: some(t, "older", []time.Duration{0, 0, time.Second, time.Minute}),
		Limit:     some(t, "limit", []int{0, 0, 1, 2}), After: int64(some(t, "after", []int{0, 0, 0, 1, 3})),
		Stuck: chosen(t, "stuck", 4),
	}
	if chosen(t, "states", 2) {
		f.States = rapid.SliceOfN(rapid.SampledFrom(queue.States()), 1, 3).Draw(t, "states")
	}
	return f
}

func listStep(t *rapid.T) step {
	f := drawFilter(t)
	return func(s *side, a *answer) {
		a.call = fmt.Sprintf("q.List(%+v)", f)
		jobs, err := s.List(s.t.Context(), f)
		a.err(err)
		for _, j := range jobs {
			s.job(a, j)
		}
	}
}
