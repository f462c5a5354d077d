package main

import (
	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
)

// pageFlags are the flags of a command that lists one page of jobs; they are
// checked before the command runs.
func pageFlags(cmd *cobra.Command, f *queue.Filter) {
	cmd.Flags().Int64Var(&f.After, "after", 0, "only ids above `ID`: the next page")
	cmd.Flags().IntVar(&f.Limit, "limit", queue.DefaultPage, "at most `N` jobs, 1 to 10000")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		switch {
		case f.Limit < 1 || f.Limit > queue.MaxPage:
			return usage("--limit %d is out of range: 1 to %d", f.Limit, queue.MaxPage)
		case f.After < 0:
			return usage("--after %d is no id", f.After)
		}
		return nil
	}
}

// tellMore says how to get the next page, if the one shown was full.
func (a *app) tellMore(jobs []queue.Job, f queue.Filter) {
	if len(jobs) == f.Limit {
		a.note("there may be more: --after %d", jobs[len(jobs)-1].ID)
	}
}
