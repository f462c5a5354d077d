package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newRequeueCmd(a *app) *cobra.Command {
	var (
		reviewed bool
		delay    string
	)
	cmd := &cobra.Command{
		Use:   "requeue ID…",
		Short: "run dead, quarantined or cancelled jobs again",
		Long: `Puts jobs that are dead, quarantined or cancelled back into the queue; their
attempts start again from one. A job that may have done something outside needs
--reviewed: your word that you looked and that running it again is right.`,
		Example: `  bailiff requeue 12
  bailiff requeue charge/inv-1001 --reviewed --delay 10m`,
		Args: words(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			again := queue.Requeue{Reviewed: reviewed}
			if delay != "" {
				var err error
				if again.Delay, err = parseSpan("--delay", delay); err != nil {
					return err
				}
			}
			return a.eachRef(cmd.Context(), args,
				func(q *sqlite.Queue, ref queue.Ref) (queue.Job, error) {
					job, err := q.Requeue(cmd.Context(), ref, again)
					if errors.Is(err, queue.ErrConflict) && !reviewed {
						if standing, getErr := q.Get(cmd.Context(), ref); getErr == nil && standing.NeedsReview && canRequeue(standing.State) {
							err = advise(err, "look whether its work happened (bailiff history %d); if running it again is right: bailiff requeue %d --reviewed", standing.ID, standing.ID)
						}
					}
					return job, err
				},
				func(j *queue.Job) { a.say("%s %s", name(j), a.standing(j)) })
		},
	}
	cmd.Flags().BoolVar(&reviewed, "reviewed", false, "you looked whether its work happened, and want it to run again")
	cmd.Flags().StringVar(&delay, "delay", "", "not before `DURATION` from now")
	return cmd
}

// canRequeue reports whether a job in state s may run again at all.
func canRequeue(s queue.State) bool {
	_, err := queue.Allowed(s, queue.EventRequeue)
	return err == nil
}
