package main

import (
	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newCancelCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID…",
		Short: "cancel jobs nobody wants any more",
		Long: `Cancels jobs. One that waits, is dead or quarantined is cancelled at once. One
that is being worked on is marked: its holder learns it with its next renewal
and stops the handler; unless the handler answers done, the job is cancelled.`,
		Example: `  bailiff cancel 12
  bailiff cancel mail/welcome-42`,
		Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachRef(cmd.Context(), args,
				func(q *sqlite.Queue, ref queue.Ref) (queue.Job, error) { return q.Cancel(cmd.Context(), ref) },
				func(j *queue.Job) {
					if j.State == queue.StateLeased {
						if gone := holderGone(j); gone != "" {
							a.say("%s marked: %s", name(j), gone)
							return
						}
						a.say("%s is being worked on by %s: marked, its handler will be stopped", name(j), escape(j.Worker))
						return
					}
					a.say("%s cancelled", name(j))
				})
		},
	}
}
