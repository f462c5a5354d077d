package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/queuetest"
)

// side is one of the two that keep the queue.
type side struct {
	*world
	queuetest.Store
	queuetest.Queue
	handles []queuetest.Queue // that are open, the one in use first
	floors  []int64           // of the fences, after each restore
	runs    []queue.Claimed
	said    []queue.Settlement
	ids     []int64 // of the jobs
}

func (s *side) open() {
	q, err := s.Store.Open(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.Queue, s.handles = q, append([]queuetest.Queue{q}, s.handles...)
}

func (s *side) close() {
	for _, q := range s.handles {
		if err := q.Close(); err != nil {
			s.t.Error(err)
		}
	}
	s.handles = nil
}

// answer is what a step was answered, in a form that is the same on both sides.
type answer struct {
	call  string   // the step, as a line of a program
	text  []string // what must be equal
	words []string // what people read: the engine's hold the reference's, and may say more
}

func (a *answer) says(s string) { a.words = append(a.words, s) }

func (a *answer) add(what string, value any) {
	a.text = append(a.text, fmt.Sprintf("%s: %+v", what, value))
}

// difference shows where the engine's answer is not the reference's.
func difference(engine, model *answer) string {
	var lines []string
	for i := range max(len(engine.text), len(model.text)) {
		e, m := at(engine.text, i), at(model.text, i)
		if e != m {
			lines = append(lines, "\tengine    "+e, "\treference "+m)
		}
	}
	for i := range max(len(engine.words), len(model.words)) {
		e, m := at(engine.words, i), at(model.words, i)
		for _, part := range strings.Split(m, "; ") {
			if !strings.Contains(e, part) {
				lines = append(lines, fmt.Sprintf("\tengine    says %q\n\treference says %q", e, m))
				break
			}
		}
	}
	return strings.Join(lines, "\n")
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(nothing)"
}

// err adds the sentinel of an error, and reports whether there is one.
func (a *answer) err(err error) bool {
	for _, sentinel := range []error{
		queue.ErrInvalid, queue.ErrConflict, queue.ErrNotFound, queue.ErrLeaseLost, queue.ErrNotOurs,
		queue.ErrBusy, queue.ErrClosed, queue.ErrFull, queue.ErrUnknown,
	} {
		if errors.Is(err, sentinel) {
			a.add("error", sentinel)
			return true
		}
	}
	if err != nil {
		a.add("error", "of no kind: "+err.Error())
	}
	return err != nil
}

// fence is a fence as its distance from the floor above which it was given out:
// every restore raises them by a number of its own.
func (s *side) fence(n int64) string {
	for i := len(s.floors) - 1; i >= 0; i-- {
		if n >= s.floors[i] {
			return fmt.Sprintf("floor %d + %d", i, n-s.floors[i])
		}
	}
	return fmt.Sprint(n)
}

// job adds a job. What belongs to the queue's own identity is compared within its
// side.
func (s *side) job(a *answer, j queue.Job) {
	a.says(j.LastError)
	fence := s.fence(j.Fence)
	j.LastError, j.IdempotencyKey, j.Fence = fmt.Sprint(j.LastError != ""), fmt.Sprint(j.IdempotencyKey != ""), 0
	a.add("job with fence "+fence, j)
}

func (s *side) entry(a *answer, e queue.Entry) {
	a.says(e.Detail)
	fences := s.fence(e.Fence) + " to " + s.fence(e.LastFence)
	e.Detail, e.Fence, e.LastFence = "", 0, 0
	// A job that is due moves from ready or from scheduled: whether a claim has
	// promoted it before is nobody's business.
	if e.From == queue.StateScheduled && (e.Event == queue.EventCancel || e.Event == queue.EventNote || e.Event == queue.EventRestore) {
		e.From = queue.StateReady
	}
	if e.To == queue.StateScheduled && e.Event == queue.EventNote {
		e.To = queue.StateReady
	}
	a.add("entry with fences "+fences, e)
}

func (s *side) enqueued(a *answer, e queue.Enqueued, err error) {
	if a.err(err) {
		return
	}
	a.add("created, pruned", []bool{e.Created, e.Pruned})
	if e.Created {
		s.ids = append(s.ids, e.Job.ID)
	}
	s.job(a, e.Job)
}

// compareEverything ends a program: all that can be seen is the same.
func (w *world) compareEverything() {
	w.run(everything)
	var miscounted []string
	for _, q := range w.engine.handles {
		list, err := q.(interface {
			Miscounted() ([]string, error)
		}).Miscounted()
		if err != nil {
			w.t.Fatal(err)
		}
		miscounted = append(miscounted, list...)
	}
	if len(miscounted) > 0 {
		w.fail(strings.Join(miscounted, "\n"))
	}
}

// everything looks at each job, at its history, and at what is counted.
func everything(s *side, a *answer) {
	a.call = "(everything)"
	ctx := s.t.Context()
	jobs, err := s.List(ctx, queue.Filter{Limit: queue.MaxPage})
	a.err(err)
	keys := map[string]string{}
	for _, j := range jobs {
		s.job(a, j)
		whole, err := s.Get(ctx, queue.Ref{Kind: j.Kind, Key: j.Key})
		a.err(err)
		s.job(a, whole)
		if keys[whole.IdempotencyKey] != "" || whole.IdempotencyKey != j.IdempotencyKey {
			a.add("not its own", whole.IdempotencyKey)
		}
		keys[whole.IdempotencyKey] = j.Key
		story, err := s.History(ctx, j.ID, queue.MaxHistory)
		a.err(err)
		for _, e := range story {
			s.entry(a, e)
		}
	}
	stuck, err := s.List(ctx, queue.Filter{Stuck: true, OlderThan: time.Second})
	a.err(err)
	a.add("stuck", idsOf(stuck))
	m, err := s.Metrics(ctx)
	a.err(err)
	a.add("metrics", m)
	agenda, err := s.Agenda(ctx, fewKinds)
	a.err(err)
	a.add("agenda", agenda)
}

func idsOf(jobs []queue.Job) (ids []int64) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}
