package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/internal/shellword"
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

// nextPage is the command that was typed, for the jobs behind last.
func (a *app) nextPage(last int64) string {
	var words []string
	for i := 0; i < len(a.words); i++ {
		name, _, joined := strings.Cut(a.words[i], "=")
		switch {
		case slices.Contains([]string{"--after", "--config", "--db"}, name):
			if !joined {
				i++
			}
		case name == "--network-fs":
		default:
			words = append(words, escape(shellword.Quote(a.words[i])))
		}
	}
	return a.command("%s --after %d", strings.Join(words, " "), last)
}

// tellMore says how to get the next page, if the one shown was full.
func (a *app) tellMore(jobs []queue.Job, f queue.Filter) {
	if len(jobs) == f.Limit {
		a.note("there may be more: %s", a.nextPage(jobs[len(jobs)-1].ID))
	}
}
