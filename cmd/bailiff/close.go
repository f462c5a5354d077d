package main

import (
	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newCloseCmd(a *app) *cobra.Command {
	var as, note, result string
	cmd := &cobra.Command{
		Use:   "close ID --as done|dead|cancelled",
		Short: "record what you found out about a dead or quarantined job",
		Long: `Records a person's finding about a dead or quarantined job: it happened (done),
it failed for good (dead), or it is no longer wanted (cancelled). The note goes
into its history. It does not run again.`,
		Example: `  bailiff close 12 --as done --note "charge ch_1 is at the provider"
  bailiff close charge/inv-1001 --as done --result '{"charge":"ch_1"}'`,
		Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as == "" {
				return usage("say what you found: --as done, --as dead or --as cancelled")
			}
			finding := queue.Finding{As: queue.State(as), Note: note}
			if cmd.Flags().Changed("result") {
				value, err := a.readJSON("--result", result)
				if err != nil {
					return err
				}
				finding.Result = value
			}
			if err := finding.Check(); err != nil {
				return err
			}
			return a.eachRef(cmd.Context(), args,
				func(q *sqlite.Queue, ref queue.Ref) (queue.Job, error) {
					return q.CloseJob(cmd.Context(), ref, finding)
				},
				func(j *queue.Job) { a.say("%s closed as %s", name(j), j.State) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&as, "as", "", "what is so: `done`, dead or cancelled")
	flags.StringVar(&note, "note", "", "how you know, for the history")
	flags.StringVar(&result, "result", "", "with --as done: its result as `JSON`, @FILE or - (stdin)")
	completeFlag(cmd, "as", func() []string {
		return []string{string(queue.StateDone), string(queue.StateDead), string(queue.StateCancelled)}
	})
	return cmd
}
