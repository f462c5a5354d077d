package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// requeueFlags are the flags of requeue as they were given.
type requeueFlags struct {
	filter   filterFlags
	all      bool
	dryRun   bool
	reviewed bool
	delay    string
	rate     string
}

func newRequeueCmd(a *app) *cobra.Command {
	var f requeueFlags
	cmd := &cobra.Command{
		Use:   "requeue ID… | FILTER",
		Short: "run dead, quarantined or cancelled jobs again",
		Long: `Puts jobs that are dead, quarantined or cancelled back into the queue; their
attempts start again from one. A job that may have done something outside needs
--reviewed: your word that you looked and that running it again is right.

Instead of IDs a filter selects the jobs: --kind, --state, --key, --older-than,
or --all. Without --state that is dead and quarantined ones: what was cancelled
stays so unless --state names it. --dry-run tells what would happen and changes
nothing; --rate spaces the jobs out. What is refused is told, grouped by reason,
and stops no other: exit 3.`,
		Example: `  bailiff requeue charge/inv-1001 --reviewed --delay 10m
  bailiff requeue --kind mail --state dead --older-than 1h --rate 10/m --dry-run`,
		Args: func(_ *cobra.Command, args []string) error { return f.checkWords(args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			again := queue.Requeue{Reviewed: f.reviewed}
			if f.delay != "" {
				var err error
				if again.Delay, err = parseSpan("--delay", f.delay); err != nil {
					return err
				}
			}
			if len(args) == 0 {
				return a.requeueSelected(cmd.Context(), f, again)
			}
			return a.eachRef(cmd.Context(), args,
				func(q *sqlite.Queue, ref queue.Ref) (queue.Job, error) {
					return a.requeueOne(cmd.Context(), q, ref, again)
				},
				func(j *queue.Job) { a.say("%s %s", name(j), a.standing(j)) })
		},
	}
	f.filter.register(a, cmd, requeuedStates())
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "all dead and quarantined jobs")
	flags.BoolVar(&f.dryRun, "dry-run", false, "tell what would happen and change nothing; with a filter")
	flags.BoolVar(&f.reviewed, "reviewed", false, "you looked whether its work happened, and want it to run again")
	flags.StringVar(&f.delay, "delay", "", "not before `DURATION` from now")
	flags.StringVar(&f.rate, "rate", "", "one after the other, `N/s`, N/m or N/h; with a filter")
	return cmd
}

// checkWords checks that either IDs or a filter select the jobs.
func (f *requeueFlags) checkWords(args []string) error {
	const call = "bailiff requeue ID…, or a filter: --kind, --state, --key, --older-than or --all"
	switch selecting := f.all || !f.filter.none(); {
	case len(args) > 0 && selecting:
		return advise(usage("IDs and a filter both select jobs: leave one out"), call)
	case len(args) == 0 && !selecting:
		return advise(usage("which jobs?"), call)
	case len(args) > 0 && (f.dryRun || f.rate != ""):
		return usage("--dry-run and --rate go with a filter")
	}
	for _, s := range f.filter.states {
		if state := queue.State(s); slices.Contains(queue.States(), state) && !canRequeue(state) {
			err := usage("--state %s: such jobs cannot be requeued", s)
			if state == queue.StateDone {
				return advise(err, "bailiff rerun ID NEWKEY makes a new job like a done one")
			}
			return err
		}
	}
	return nil
}

// requeueOne requeues a job that was named.
func (a *app) requeueOne(ctx context.Context, q *sqlite.Queue, ref queue.Ref, again queue.Requeue) (queue.Job, error) {
	job, err := q.Requeue(ctx, ref, again)
	if !errors.Is(err, queue.ErrConflict) {
		return job, err
	}
	standing, getErr := q.Get(ctx, ref)
	switch {
	case getErr != nil:
	case standing.State == queue.StateDone:
		err = advise(err, "to do it once more, as a new job: %s", a.command("rerun %d NEWKEY", standing.ID))
	case standing.State == queue.StateLeased:
		if gone := holderGone(&standing); gone != "" {
			err = advise(err, "%s", gone)
		}
	case standing.NeedsReview && canRequeue(standing.State) && !again.Reviewed:
		err = advise(err, "look whether its work happened (%s); if running it again is right: %s",
			a.command("history %d", standing.ID), a.requeueCommand(&standing))
	}
	return job, err
}

// canRequeue reports whether a job in state s may run again at all.
func canRequeue(s queue.State) bool {
	_, err := queue.Allowed(s, queue.EventRequeue)
	return err == nil
}

// requeuedStates are the states of jobs that may run again.
func requeuedStates() []string {
	return slices.DeleteFunc(stateNames(), func(s string) bool { return !canRequeue(queue.State(s)) })
}
