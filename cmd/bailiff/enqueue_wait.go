package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

// waitForever is the value of --wait without a time; help shows it.
const waitForever = "TIME"

// waitFlag is --wait[=TIME].
type waitFlag struct {
	on    bool
	limit time.Duration // 0: none
}

// Set reads the value of the flag.
func (w *waitFlag) Set(text string) (err error) {
	w.on = true
	if text == waitForever {
		return nil
	}
	if w.limit, err = parseSpan("the time", text); err == nil && w.limit == 0 {
		err = usage("the time must be above 0")
	}
	return err
}

// looseTime is the word behind a bare --wait if it is a time, with a unit where
// it has none: pflag gives a value that may be left out to its flag behind a = alone.
func looseTime(typed []string) string {
	for i, word := range typed {
		if word == "--" || i+1 == len(typed) {
			break
		}
		next := typed[i+1]
		if word != "--wait" {
			continue
		}
		for _, time := range []string{next, next + "s"} {
			if _, err := config.ParseDuration(time); err == nil {
				return time
			}
		}
	}
	return ""
}

// String is the flag's default.
func (w *waitFlag) String() string { return "" }

// Type makes help show --wait[=TIME]: pflag names no value of a bool.
func (w *waitFlag) Type() string { return "bool" }

// waitFor waits until a job ended, or limit is over, and shows how it ended.
func (a *app) waitFor(ctx context.Context, q *sqlite.Queue, got queue.Enqueued, madeKey string, began time.Time, limit time.Duration) error {
	caller := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	tellAlone := sync.OnceFunc(a.tellAlone)
	job, err := awaitEnd(ctx, q, got.Job, tellAlone)
	if err != nil {
		if caller.Err() == nil && ctx.Err() == nil {
			return err
		}
		job = got.Job
		if latest, err := q.Get(context.WithoutCancel(ctx), queue.Ref{ID: job.ID}); err == nil {
			job = latest
		}
	}
	if !ended(job.State) {
		tellAlone()
	}
	got.Job = job
	if !a.json {
		a.tellEnd(got, began)
		switch {
		case ended(job.State):
		case caller.Err() != nil:
			a.note("stopped waiting; the job goes on: %s", a.command("get %d", job.ID))
		default:
			a.note("not ended in time; the job goes on: %s", a.command("get %d", job.ID))
		}
	} else if err := a.printJSON(newWaitedJSON(got, madeKey)); err != nil {
		return err
	}
	switch {
	case job.State == queue.StateDone:
		return nil
	case ended(job.State):
		return &endedError{exitFailed}
	default:
		return &endedError{exitBusy}
	}
}

// aloneAfter is how long a wait lasts before it asks whether anybody works here:
// a service that was started just before gets this time.
const aloneAfter = time.Second

// tellAlone says that a job waits in vain: no service runs here.
func (a *app) tellAlone() {
	if s, err := a.service(); s == nil && err == nil {
		a.note("no service runs here: %s starts it", a.command("run"))
	}
}

// awaitEnd reads the job again after every change of the queue until it ended.
// When that takes long it calls tellAlone, once.
func awaitEnd(ctx context.Context, q *sqlite.Queue, job queue.Job, tellAlone func()) (queue.Job, error) {
	if ended(job.State) {
		return job, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := q.Changes(ctx)
	if err != nil {
		return job, err
	}
	long := time.NewTimer(aloneAfter)
	defer long.Stop()
	for {
		if job, err = q.Get(ctx, queue.Ref{ID: job.ID}); err != nil || ended(job.State) {
			return job, err
		}
		select {
		case <-ctx.Done():
			return job, fmt.Errorf("wait for job: %w", context.Cause(ctx))
		case <-long.C:
			tellAlone()
		case <-changes:
		}
	}
}

// ended reports whether nothing more happens to a job by itself.
func ended(s queue.State) bool { return s.Finished() || s == queue.StateQuarantined }

// tellEnd says for people how a job that was waited for stands.
func (a *app) tellEnd(got queue.Enqueued, began time.Time) {
	j, created := &got.Job, got.Created
	switch {
	case j.State == queue.StateDone && created && len(j.Result) == 0:
		a.say("%s done in %s, no result (what it printed, if anything, was not JSON as a whole; that is fine)", name(j), span(now().Sub(began)))
	case j.State == queue.StateDone && created:
		a.say("%s done in %s", name(j), span(now().Sub(began)))
	case created || j.State != queue.StateDone: // "already exists: done" has been said
		a.say("%s %s", name(j), a.standing(j))
	}
	switch {
	case j.State == queue.StateDone && len(j.Result) > 0:
		a.say("%s", escape(string(j.Result)))
	case j.State != queue.StateDone && j.LastError != "":
		a.note("%s", escape(j.LastError))
	}
	if !ended(j.State) {
		return
	}
	if next := a.next(got); next != "" {
		a.note("%s", next)
	}
}

// waitedJSON answers enqueue --wait --json.
type waitedJSON struct {
	Enqueued  enqueuedJSON   `json:",embed"`
	Result    jsontext.Value `json:"result"`
	LastError *string        `json:"last_error"`
}

func newWaitedJSON(got queue.Enqueued, madeKey string) waitedJSON {
	return waitedJSON{Enqueued: newEnqueuedJSON(got, madeKey), Result: got.Job.Result, LastError: text(got.Job.LastError)}
}
