package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// requeuePage is how many jobs are requeued in one commit: others want to write too.
const requeuePage = 500

// requeueSelected requeues the jobs that a filter selects, page by page.
func (a *app) requeueSelected(ctx context.Context, f requeueFlags, again queue.Requeue) error {
	filter, err := f.filter.filter()
	if err != nil {
		return err
	}
	if len(filter.States) == 0 {
		filter.States = []queue.State{queue.StateDead, queue.StateQuarantined}
	}
	filter.Limit = requeuePage
	r := queue.RequeueMany{Filter: filter, Requeue: again, DryRun: f.dryRun}
	if r.Spacing, err = parseRate(f.rate); err != nil {
		return err
	}
	done := requeued{DryRun: f.dryRun, Kinds: map[string]int64{}, Refusals: []*refusal{}, reviewed: again.Reviewed}
	err = a.withQueue(ctx, func(q *sqlite.Queue) error {
		err := a.requeuePages(ctx, q, r, &done)
		if err == nil && done.Requeued+done.Refused == 0 {
			a.noteUnknownKind(ctx, q, filter.Kind)
		}
		return err
	})
	if err != nil && done.Requeued+done.Refused == 0 {
		return err
	}
	if err != nil {
		err = advise(err, "the same command again goes on with the rest")
	}
	if a.json {
		err = errors.Join(err, a.printJSON(done))
	} else {
		a.tellRequeued(&done, r)
	}
	if err == nil && done.Refused > 0 {
		return &endedError{exitConflict}
	}
	return err
}

func (a *app) requeuePages(ctx context.Context, q *sqlite.Queue, r queue.RequeueMany, done *requeued) error {
	bar := a.progress("requeue", -1, inJobs())
	defer func() { _ = bar.Finish() }()
	for {
		page, err := q.RequeueMany(ctx, r)
		if err != nil {
			return err
		}
		for i := range page.Jobs {
			done.take(&page.Jobs[i], &r)
		}
		_ = bar.Add(len(page.Jobs))
		if !page.More || len(page.Jobs) == 0 {
			return nil
		}
		r.Filter.After = page.Jobs[len(page.Jobs)-1].Job.ID
		if r.Spacing > 0 && done.LastDue != nil {
			r.Requeue.Delay = max(0, done.LastDue.Add(r.Spacing).Sub(now()))
		}
	}
}

// rateForm is what --rate takes.
var rateForm = regexp.MustCompile(`^([0-9]{1,6})/([smh])$`)

// parseRate is the time between two jobs at a rate; 0 for none.
func parseRate(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if m := rateForm.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			unit := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[m[2]]
			return unit / time.Duration(n), nil
		}
	}
	return 0, advise(usage("--rate %s is no rate", escape(text)), "jobs per second, minute or hour: 10/s, 30/m, 5/h")
}

// requeued is what a requeue by filter did, or would do; --json prints it.
type requeued struct {
	DryRun   bool             `json:"dry_run"`
	Requeued int64            `json:"requeued"`
	Refused  int64            `json:"refused"`
	Kinds    map[string]int64 `json:"kinds"`     // of those requeued
	FirstDue *time.Time       `json:"first_due"` // of those requeued; null without any
	LastDue  *time.Time       `json:"last_due"`
	Refusals []*refusal       `json:"refusals"`

	reviewed bool
}

// refusal is a reason for which jobs were refused.
type refusal struct {
	Reason string  `json:"reason"`
	Jobs   int64   `json:"jobs"`
	First  []int64 `json:"first"` // ids of the first few

	names  []string
	review bool // the word "reviewed" would have helped
}

// Bounds of what is told about refusals.
const (
	refusalsNamed  = 5
	refusalReasons = 20
)

// take counts one job.
func (d *requeued) take(r *queue.RequeuedJob, asked *queue.RequeueMany) {
	j := &r.Job
	if r.Err != nil {
		d.refuse(r)
		return
	}
	due := j.AvailableAt
	if asked.DryRun {
		due = now().Add(asked.Requeue.Delay + time.Duration(d.Requeued)*asked.Spacing)
	}
	if d.FirstDue == nil {
		d.FirstDue = &due
	}
	d.LastDue = &due
	d.Requeued++
	d.Kinds[j.Kind]++
}

func (d *requeued) refuse(r *queue.RequeuedJob) {
	d.Refused++
	reason := strings.Join(sentences(r.Err), "; ")
	for _, act := range []string{"requeue: ", fmt.Sprintf("job %d: ", r.Job.ID)} {
		reason = strings.TrimPrefix(reason, act)
	}
	i := slices.IndexFunc(d.Refusals, func(known *refusal) bool { return known.Reason == reason })
	switch {
	case i < 0 && len(d.Refusals) < refusalReasons:
		d.Refusals = append(d.Refusals, &refusal{Reason: reason})
		i = len(d.Refusals) - 1
	case i < 0:
		i = refusalReasons - 1
		d.Refusals[i].Reason = "other reasons"
	}
	known := d.Refusals[i]
	known.Jobs++
	known.review = known.review || r.Job.NeedsReview && !d.reviewed
	if len(known.First) < refusalsNamed {
		known.First = append(known.First, r.Job.ID)
		known.names = append(known.names, name(&r.Job))
	}
}

// tellRequeued says for people what was done, or would be.
func (a *app) tellRequeued(d *requeued, r queue.RequeueMany) {
	act, refused := "requeued", "refused"
	if d.DryRun {
		act, refused = "would be requeued", "would be refused"
	}
	if d.Requeued+d.Refused == 0 {
		a.say("no such jobs: nothing to requeue")
		return
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(d.Kinds)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, d.Kinds[kind]))
	}
	line := fmt.Sprintf("%s %s", plural(d.Requeued, "job"), act)
	if len(kinds) > 0 {
		line += ": " + strings.Join(kinds, ", ")
	}
	a.say("%s", line)
	if d.FirstDue != nil && (r.Spacing > 0 || r.Requeue.Delay > 0) {
		a.say("  due from %s to %s", when(now(), *d.FirstDue), when(now(), *d.LastDue))
	}
	for _, reason := range d.Refusals {
		a.say("%d %s: %s", reason.Jobs, refused, reason.Reason)
		named := strings.Join(reason.names, ", ")
		if rest := reason.Jobs - int64(len(reason.names)); rest > 0 {
			named += fmt.Sprintf(" and %d more", rest)
		}
		a.say("  %s", named)
		if reason.review {
			a.say("  look whether their work happened (%s); where running them again is right: the same with --reviewed", a.command("history %d", reason.First[0]))
		}
	}
}
