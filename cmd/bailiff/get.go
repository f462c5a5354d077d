package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newGetCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "get ID…",
		Short: "show jobs",
		Long: `Shows jobs as they stand: their state and why, payload and result.
With --json: every field, numbers digit by digit as they were enqueued; one
line for each job.`,
		Example: `  bailiff get 12
  bailiff get mail/welcome-42 --json`,
		Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			paused := map[string]bool{} // read for people alone
			return a.eachRef(cmd.Context(), args, func(q *sqlite.Queue, ref queue.Ref) (queue.Job, error) {
				job, err := q.Get(cmd.Context(), ref)
				if err == nil && waits(job.State) && !a.json {
					paused = pausedKinds(cmd.Context(), q)
				}
				return job, err
			}, func(j *queue.Job) {
				a.showJob(j)
				if waits(j.State) && paused[j.Kind] {
					a.say("  its kind is paused: %s", a.command("resume %s", j.Kind))
				}
			})
		},
	}
}

// showJob is a job for people: what it is and what is so, then the dates, then
// what went in and came out, then what can be done about it.
func (a *app) showJob(j *queue.Job) {
	now := now()
	a.say("%s %s", name(j), a.standing(j))
	line := func(label, format string, args ...any) { a.say("  %-10s %s", label, fmt.Sprintf(format, args...)) }
	if j.LastError != "" {
		line("last error", "%s", escape(j.LastError))
	}
	line("attempt", "%s, fence %d, priority %d", attemptOf(j), j.Fence, j.Priority)
	if waits(j.State) {
		line("due", "%s", when(now, j.AvailableAt))
	}
	if j.State == queue.StateLeased {
		line("lease", "held by %s until %s", escape(j.Worker), when(now, j.LeaseExpiresAt))
	}
	line("enqueued", "%s", when(now, j.CreatedAt))
	line("changed", "%s", when(now, j.UpdatedAt))
	line("payload", "%s", escape(string(j.Payload)))
	if len(j.Meta) > 0 {
		line("meta", "%s", escape(string(j.Meta)))
	}
	if len(j.Result) > 0 {
		line("result", "%s", escape(string(j.Result)))
	}
	for _, e := range j.Effects {
		line("effect", "%s %s in run %d, begun %s", escape(e.Name), e.State, e.Fence, when(now, e.BegunAt))
	}
	if next := a.nextCommands(j); next != "" {
		a.say("  %s", next)
	}
}

// standing is the state of a job in a few words.
func (a *app) standing(j *queue.Job) string {
	now := now()
	s := string(j.State)
	switch j.State {
	case queue.StateScheduled:
		if j.Due(now) {
			s = string(queue.StateReady)
		} else {
			s += ", " + due(now, j.AvailableAt)
		}
	case queue.StateLeased:
		s += " since " + span(now.Sub(j.UpdatedAt))
	case queue.StateDone, queue.StateDead, queue.StateCancelled:
		s += " " + relative(now, j.FinishedAt)
	case queue.StateQuarantined:
		s += " " + relative(now, j.UpdatedAt) + ": nobody knows whether it happened"
	}
	if j.CancelRequested && j.State == queue.StateLeased {
		s += ", to be cancelled"
	}
	if j.State == queue.StateDone {
		for _, e := range j.Effects {
			if e.State == queue.EffectBegun {
				s += ", " + escape(e.Name) + " without receipt"
			}
		}
	}
	return s
}

// nextCommands says what a person can do about a job that waits for one.
func (a *app) nextCommands(j *queue.Job) string {
	requeue := a.requeueCommand(j)
	switch j.State {
	case queue.StateQuarantined:
		return fmt.Sprintf("look whether it happened (its idempotency key is %s); then, it did: %s · to run it again: %s · no longer wanted: %s. No other job waits for it",
			j.IdempotencyKey, a.command("close %d --as done", j.ID), requeue, a.command("cancel %d", j.ID))
	case queue.StateDead:
		return fmt.Sprintf("to run it again: %s · settled otherwise: %s", requeue, a.command("close %d --as done", j.ID))
	}
	return ""
}

// requeueCommand is the command that lets a job run again.
func (a *app) requeueCommand(j *queue.Job) string {
	command := a.command("requeue %d", j.ID)
	if j.NeedsReview {
		command += " --reviewed"
	}
	return command
}

// attemptOf is "2 of 5": how often a job was tried, of how often it may be.
func attemptOf(j *queue.Job) string {
	limit := ", limit not set"
	if n := attemptLimit(j); n != nil {
		limit = " of " + strconv.Itoa(*n)
	}
	return strconv.Itoa(j.Attempt) + limit
}

// waits reports whether a job in state s waits to be claimed.
func waits(s queue.State) bool { return s == queue.StateReady || s == queue.StateScheduled }
