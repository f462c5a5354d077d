package main

import (
	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newDeadCmd(a *app) *cobra.Command {
	f := queue.Filter{States: []queue.State{queue.StateDead, queue.StateQuarantined}}
	cmd := &cobra.Command{
		Use:   "dead",
		Short: "list what waits for a person: dead and quarantined jobs",
		Long: `Lists the jobs that will not run again by themselves. A dead one failed for
good. Of a quarantined one nobody knows whether it happened: look, then say so
with close, requeue or cancel.`,
		Example: `  bailiff dead
  bailiff dead --kind charge --json`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				if a.json {
					return a.list(cmd.Context(), q, f)
				}
				jobs, err := q.List(cmd.Context(), f)
				if err != nil {
					return err
				}
				if len(jobs) == 0 {
					a.say("no job is dead or quarantined")
				}
				for i := range jobs {
					a.say("%s %s", name(&jobs[i]), a.standing(&jobs[i]))
					if reason := jobs[i].LastError; reason != "" {
						a.say("  %s", escape(reason))
					}
					a.say("  %s", a.nextCommands(&jobs[i]))
				}
				a.tellMore(jobs, f)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&f.Kind, "kind", "", "only of this `KIND`")
	pageFlags(cmd, &f)
	completeFlag(cmd, "kind", a.kinds)
	return cmd
}
