package main

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newListCmd(a *app) *cobra.Command {
	var (
		f         queue.Filter
		states    []string
		olderThan string
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list jobs",
		Long: `Lists jobs by id, without payloads and results (get shows them). A scheduled
job that is due counts as ready. A full page says how to get the next one.`,
		Example: `  bailiff list --state ready --state scheduled --kind mail
  bailiff list --key welcome- --older-than 1d --json`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range states {
				if !slices.Contains(queue.States(), queue.State(s)) {
					return advise(usage("--state %s is no state", escape(s)), "states: %s", strings.Join(stateNames(), " "))
				}
				f.States = append(f.States, queue.State(s))
			}
			if olderThan != "" {
				var err error
				if f.OlderThan, err = parseSpan("--older-than", olderThan); err != nil {
					return err
				}
			}
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				return a.list(cmd.Context(), q, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&states, "state", nil, "only in this `STATE` (may be repeated)")
	flags.StringVar(&f.Kind, "kind", "", "only of this `KIND`")
	flags.StringVar(&f.KeyPrefix, "key", "", "only with keys that begin with `PREFIX`")
	flags.StringVar(&olderThan, "older-than", "", "only in their state for longer than `DURATION`")
	pageFlags(cmd, &f)
	completeFlag(cmd, "state", func() []string { return stateNames() })
	completeFlag(cmd, "kind", a.kinds)
	return cmd
}

// list prints one page.
func (a *app) list(ctx context.Context, q *sqlite.Queue, f queue.Filter) error {
	jobs, err := q.List(ctx, f)
	if err != nil {
		return err
	}
	if a.json {
		for i := range jobs {
			if err := a.printJSON(newListedJSON(&jobs[i])); err != nil {
				return err
			}
		}
		a.tellMore(jobs, f)
		return nil
	}
	if len(jobs) == 0 {
		a.note("no such jobs")
		return nil
	}
	rows := make([][]string, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		rows[i] = []string{
			strconv.FormatInt(j.ID, 10),
			brief(j.Kind+"/"+j.Key, 60),
			a.standing(j),
			attempts(j),
			brief(j.LastError, 80),
		}
	}
	if err := a.table("ID JOB STATE ATTEMPT ERROR", rows); err != nil {
		return err
	}
	a.tellMore(jobs, f)
	return nil
}

// attempts is how often a job was tried, of how often it may be.
func attempts(j *queue.Job) string {
	limit := "-"
	if n := attemptLimit(j); n != nil {
		limit = strconv.Itoa(*n)
	}
	return strconv.Itoa(j.Attempt) + "/" + limit
}

func stateNames() []string {
	var names []string
	for _, s := range queue.States() {
		names = append(names, string(s))
	}
	return names
}
