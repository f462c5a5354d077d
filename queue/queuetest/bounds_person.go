package queuetest

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// badRefs are names of jobs that can be none.
var badRefs = map[string]struct {
	names string
	ref   queue.Ref
}{
	"no name":        {"kind", queue.Ref{}},
	"a negative id":  {"id", queue.Ref{ID: -1}},
	"a high id":      {"id", queue.Ref{ID: queue.MaxID + 1}},
	"no key":         {"key", queue.Ref{Kind: "a"}},
	"an odd kind":    {"kind", queue.Ref{Kind: "A", Key: "1"}},
	"a key with NUL": {"key", queue.Ref{Kind: "a", Key: "\x00"}},
	"a key too long": {"key", queue.Ref{Kind: "a", Key: strings.Repeat("k", queue.MaxKeyLength+1)}},
}

// byRef are the operations on one job.
func (f *fixture) byRef() map[string]func(queue.Ref) error {
	return map[string]func(queue.Ref) error{
		"get":     func(r queue.Ref) error { _, err := f.Get(f.Context(), r); return err },
		"cancel":  func(r queue.Ref) error { _, err := f.Cancel(f.Context(), r); return err },
		"requeue": func(r queue.Ref) error { _, err := f.Requeue(f.Context(), r, queue.Requeue{}); return err },
		"close": func(r queue.Ref) error {
			_, err := f.CloseJob(f.Context(), r, queue.Finding{As: queue.StateDone})
			return err
		},
		"rerun": func(r queue.Ref) error { _, err := f.Rerun(f.Context(), r, queue.Rerun{Key: "new"}); return err },
	}
}

func (f *fixture) badWords() {
	f.add("a", "1")
	f.settles(f.claim("a", rule), queue.Outcome{Is: queue.RunDead})
	job := queue.Ref{Kind: "a", Key: "1"}
	closes := func(finding queue.Finding) func() error {
		return func() error { _, err := f.CloseJob(f.Context(), job, finding); return err }
	}
	many := func(r queue.RequeueMany) func() error {
		return func() error { _, err := f.RequeueMany(f.Context(), r); return err }
	}
	prunes := func(p queue.Pruning) func() error {
		return func() error { _, err := f.Prune(f.Context(), p); return err }
	}
	requeues := func(d time.Duration) func() error {
		return func() error { _, err := f.Requeue(f.Context(), job, queue.Requeue{Delay: d}); return err }
	}
	reruns := func(key string) func() error {
		return func() error { _, err := f.Rerun(f.Context(), job, queue.Rerun{Key: key}); return err }
	}
	all := map[string]bad{
		"closed as ready":                 {"close as", closes(queue.Finding{As: queue.StateReady})},
		"closed as nothing":               {"close as", closes(queue.Finding{})},
		"closed as dead with a result":    {"result", closes(queue.Finding{As: queue.StateDead, Result: jsontext.Value(`1`)})},
		"closed with a bad result":        {"result", closes(queue.Finding{As: queue.StateDone, Result: jsontext.Value(`{`)})},
		"closed with a long note":         {"note", closes(queue.Finding{As: queue.StateDone, Note: strings.Repeat("n", queue.MaxReason+1)})},
		"requeued in the past":            {"delay", requeues(-1)},
		"requeued too far":                {"delay", requeues(queue.MaxDelay + 1)},
		"rerun without a key":             {"key", reruns("")},
		"rerun under a long key":          {"key", reruns(strings.Repeat("k", queue.MaxKeyLength+1))},
		"a pause of an odd kind":          {"kind", func() error { return f.Pause(f.Context(), "A", true) }},
		"a note on no job":                {"id", func() error { return f.Note(f.Context(), -1, 0, "") }},
		"a note on a run to come":         {"fence", func() error { return f.Note(f.Context(), f.get(1).ID, f.get(1).Fence+1, "") }},
		"a note on a negative fence":      {"fence", func() error { return f.Note(f.Context(), f.get(1).ID, -1, "") }},
		"many requeued of an odd state":   {"state", many(queue.RequeueMany{Filter: queue.Filter{States: []queue.State{"lost"}}})},
		"many requeued of an odd kind":    {"kind", many(queue.RequeueMany{Filter: queue.Filter{Kind: "A"}})},
		"too many requeued":               {"limit", many(queue.RequeueMany{Filter: queue.Filter{Limit: queue.MaxBatch + 1}})},
		"many requeued, spaced backwards": {"spacing", many(queue.RequeueMany{Spacing: -1})},
		"many requeued, spaced too far":   {"spacing", many(queue.RequeueMany{Spacing: queue.MaxDelay})},
		"many requeued in the past":       {"delay", many(queue.RequeueMany{Requeue: queue.Requeue{Delay: -1}})},
		"stuck ones requeued":             {"stuck", many(queue.RequeueMany{Filter: queue.Filter{Stuck: true}})},
		"pruned of an odd kind":           {"kind", prunes(queue.Pruning{Kind: "A"})},
		"done kept for less than nothing": {"done", prunes(queue.Pruning{Keep: queue.Retention{Done: -1}})},
		"dead kept for less than nothing": {"dead", prunes(queue.Pruning{Keep: queue.Retention{Dead: -1}})},
		"cancelled kept for less":         {"cancelled", prunes(queue.Pruning{Keep: queue.Retention{Cancelled: -1}})},
		"a negative number pruned":        {"limit", prunes(queue.Pruning{Limit: -1})},
		"too many pruned":                 {"limit", prunes(queue.Pruning{Limit: queue.MaxBatch + 1})},
	}
	for act, call := range f.byRef() {
		for what, r := range badRefs {
			all[act+" "+what] = bad{r.names, func() error { return call(r.ref) }}
		}
	}
	f.refusesAll(all)
}

func (f *fixture) badQuestions() {
	f.add("a", "1")
	list := func(filter queue.Filter) func() error {
		return func() error { _, err := f.List(f.Context(), filter); return err }
	}
	history := func(id int64, limit int) func() error {
		return func() error { _, err := f.History(f.Context(), id, limit); return err }
	}
	f.refusesAll(map[string]bad{
		"an unknown state":            {"state", list(queue.Filter{States: []queue.State{"lost"}})},
		"no state":                    {"state", list(queue.Filter{States: []queue.State{queue.StateNone}})},
		"an odd kind":                 {"kind", list(queue.Filter{Kind: "A"})},
		"a long prefix":               {"key prefix", list(queue.Filter{KeyPrefix: strings.Repeat("k", queue.MaxKeyLength+1)})},
		"a prefix that is no UTF-8":   {"key prefix", list(queue.Filter{KeyPrefix: "\xff"})},
		"a negative age":              {"older than", list(queue.Filter{OlderThan: -1})},
		"a negative place":            {"after id", list(queue.Filter{After: -1})},
		"a negative limit":            {"limit", list(queue.Filter{Limit: -1})},
		"a high limit":                {"limit", list(queue.Filter{Limit: queue.MaxPage + 1})},
		"a history of no job":         {"id", history(-1, 0)},
		"a history of less than none": {"limit", history(1, -1)},
		"a history too long":          {"limit", history(1, queue.MaxHistory+1)},
	})
}

func (f *fixture) unknownJobs() {
	f.add("a", "1")
	before := f.picture()
	for act, call := range f.byRef() {
		for _, ref := range []queue.Ref{{ID: 4711}, {Kind: "a", Key: "2"}, {Kind: "b", Key: "1"}} {
			if err := call(ref); err == nil {
				f.Errorf("%s of %s: taken", act, ref)
			} else {
				f.refused(err, queue.ErrNotFound)
			}
		}
	}
	_, err := f.History(f.Context(), 4711, 0)
	f.refused(err, queue.ErrNotFound)
	f.refused(f.Note(f.Context(), 4711, 0, "what"), queue.ErrNotFound)
	f.refused(f.Pause(f.Context(), "b", false), queue.ErrNotFound)
	_, err = f.Settle(f.Context(), queue.Settlement{ID: 4711, Token: queue.NewToken(), Outcome: queue.Outcome{Is: queue.RunDone}})
	f.refused(err, queue.ErrNotFound)
	if r := f.renew(queue.Claimed{Job: queue.Job{ID: 4711}}, time.Second); r.Err == nil {
		f.Error("renewed the lease of no job")
	} else {
		f.refused(r.Err, queue.ErrLeaseLost)
	}
	f.unchanged(before, "what was not found")
}
