package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

func TestRequeueManyCheck(t *testing.T) {
	t.Parallel()
	valid := func() queue.RequeueMany {
		return queue.RequeueMany{
			Filter:  queue.Filter{Kind: "mail", States: queue.States(), Limit: queue.MaxBatch},
			Requeue: queue.Requeue{Delay: time.Second}, Spacing: time.Hour,
		}
	}
	checkAll(t, valid, (*queue.RequeueMany).Check, []refusal[queue.RequeueMany]{
		{"stuck jobs cannot be requeued", func(r *queue.RequeueMany) { r.Filter.Stuck = true }},
		{`kind "Mail"`, func(r *queue.RequeueMany) { r.Filter.Kind = "Mail" }},
		{`state "lost"`, func(r *queue.RequeueMany) { r.Filter.States = []queue.State{"lost"} }},
		{"limit 1001: 0 to 1000", func(r *queue.RequeueMany) { r.Filter.Limit = queue.MaxBatch + 1 }},
		{"delay -1ns", func(r *queue.RequeueMany) { r.Requeue.Delay = -1 }},
		{"spacing -1ns", func(r *queue.RequeueMany) { r.Spacing = -1 }},
		{"spacing 87600h0m0s", func(r *queue.RequeueMany) { r.Spacing = queue.MaxDelay }},
		{"spacing 87h41m", func(r *queue.RequeueMany) { r.Spacing = queue.MaxDelay/999 + time.Nanosecond; r.Requeue.Delay = 0 }},
		{"spacing 1h0m0s", func(r *queue.RequeueMany) { r.Requeue.Delay = queue.MaxDelay }},
	})
	for _, r := range []queue.RequeueMany{
		{},
		{Spacing: queue.MaxDelay / 99}, // of the default page
		{Spacing: queue.MaxDelay, Filter: queue.Filter{Limit: 2}},
		{Spacing: queue.MaxDelay + 1, Filter: queue.Filter{Limit: 1}}, // spaces nothing
		{Requeue: queue.Requeue{Delay: queue.MaxDelay}},
	} {
		if err := r.Check(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestRequeueManyStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, want []queue.State }{
		{nil, []queue.State{queue.StateDead, queue.StateQuarantined, queue.StateCancelled}},
		{[]queue.State{queue.StateQuarantined, queue.StateDone}, []queue.State{queue.StateQuarantined}},
		{[]queue.State{queue.StateDone, queue.StateReady}, nil},
	} {
		r := queue.RequeueMany{Filter: queue.Filter{States: c.asked}}
		if got := r.States(); !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.asked, got, c.want)
		}
	}
}

func TestRerunCheck(t *testing.T) {
	t.Parallel()
	checkAll(t, func() queue.Rerun { return queue.Rerun{Key: "again"} }, (*queue.Rerun).Check, []refusal[queue.Rerun]{
		{`key ""`, func(r *queue.Rerun) { r.Key = "" }},
		{"holds a NUL byte", func(r *queue.Rerun) { r.Key = "a\x00" }},
	})
}

func TestCanRerun(t *testing.T) {
	t.Parallel()
	for state, says := range map[queue.State]string{
		queue.StateScheduled:   "rerun a scheduled job: it waits to run already (possible: cancel): conflict",
		queue.StateReady:       "rerun a ready job: it waits to run already (possible: cancel): conflict",
		queue.StateLeased:      "rerun a leased job: somebody works on it (possible: cancel): conflict",
		queue.StateDone:        "",
		queue.StateDead:        "",
		queue.StateQuarantined: "rerun a quarantined job: nobody knows what it did: a person decides first (possible: cancel, close, requeue): conflict",
		queue.StateCancelled:   "",
		queue.StateNone:        `state "": no such state: invalid`,
		"lost":                 `state "lost": no such state: invalid`,
	} {
		got := ""
		err := queue.CanRerun(state)
		if err != nil {
			got = err.Error()
		}
		if got != says {
			t.Errorf("%q: %q, want %q", state, got, says)
		}
		if strings.HasSuffix(says, ": conflict") && !errors.Is(err, queue.ErrConflict) {
			t.Errorf("%q: %v is no conflict", state, err)
		}
	}
}

func TestPruningCheck(t *testing.T) {
	t.Parallel()
	valid := func() queue.Pruning {
		return queue.Pruning{Keep: queue.Retention{Done: time.Hour}, Kind: "mail", Limit: queue.MaxBatch}
	}
	checkAll(t, valid, (*queue.Pruning).Check, []refusal[queue.Pruning]{
		{`kind "Mail"`, func(p *queue.Pruning) { p.Kind = "Mail" }},
		{"retention of done jobs -1ns: 0s or more", func(p *queue.Pruning) { p.Keep.Done = -1 }},
		{"retention of dead jobs -1s", func(p *queue.Pruning) { p.Keep.Dead = -time.Second }},
		{"retention of cancelled jobs -1ns", func(p *queue.Pruning) { p.Keep.Cancelled = -1 }},
		// The first that is wrong is named, each time.
		{"retention of dead jobs -1ns", func(p *queue.Pruning) { p.Keep.Dead, p.Keep.Cancelled, p.Limit = -1, -1, -1 }},
		{"limit 1001: 0 to 1000", func(p *queue.Pruning) { p.Limit = queue.MaxBatch + 1 }},
		{"limit -1: 0 to 1000", func(p *queue.Pruning) { p.Limit = -1 }},
	})
	if err := new(queue.Pruning).Check(); err != nil {
		t.Errorf("no wish: %v", err)
	}
}

func TestRetentionFor(t *testing.T) {
	t.Parallel()
	r := queue.Retention{Done: time.Hour, Cancelled: time.Minute}
	for _, s := range queue.States() {
		want := map[queue.State]time.Duration{queue.StateDone: time.Hour, queue.StateCancelled: time.Minute}[s]
		if keep, ends := r.For(s); keep != want || ends != (want > 0) {
			t.Errorf("%s: %v, %t, want %v", s, keep, ends, want)
		}
	}
}
