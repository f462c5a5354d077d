package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newListCmd(a *app) *cobra.Command {
	var f filterFlags
	var page queue.Filter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list jobs",
		Long: `Lists jobs by id, without payloads and results (get shows them). A scheduled
job that is due counts as ready. A full page says how to get the next one.

--stuck selects the jobs that ought to move and do not, and says why where that
is known: due for more than an hour (or --older-than) and not claimed, claimed
for as long and still running, or with a lease that is over.`,
		Example: `  bailiff list --state ready --state scheduled --kind mail
  bailiff list --stuck --older-than 10m --json`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.filter()
			if err != nil {
				return err
			}
			filter.After, filter.Limit = page.After, page.Limit
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				return a.list(cmd.Context(), q, filter)
			})
		},
	}
	f.register(a, cmd, stateNames())
	cmd.Flags().BoolVar(&f.stuck, "stuck", false, "only jobs that ought to move and do not, with why")
	pageFlags(cmd, &page)
	return cmd
}

// list prints one page.
func (a *app) list(ctx context.Context, q *sqlite.Queue, f queue.Filter) error {
	jobs, err := q.List(ctx, f)
	if err != nil {
		return err
	}
	why := func(*queue.Job) string { return "" }
	if f.Stuck && len(jobs) > 0 {
		s := a.surroundings(ctx, q)
		why = s.why
	}
	switch {
	case a.json:
		err = a.listJSON(jobs, f, why)
	case len(jobs) == 0 && f.Stuck && f.After == 0 && len(f.States) == 0 && f.Kind == "" && f.KeyPrefix == "":
		a.note("nothing has been stuck for more than %s; %s · %s", span(cmp.Or(f.OlderThan, queue.StuckAfter)), a.command("list --stuck --older-than 1m"), a.command("status"))
	case len(jobs) == 0:
		a.note("no such jobs")
		a.noteUnknownKind(ctx, q, f.Kind)
	case f.Stuck:
		err = a.listTable(jobs, nil, "WHY", func(j *queue.Job) string { return brief(why(j), 160) })
	default:
		err = a.listTable(jobs, pausedKinds(ctx, q), "ERROR", func(j *queue.Job) string { return brief(lastError(j), 80) })
	}
	if err == nil {
		a.tellMore(jobs, f)
	}
	return err
}

// listJSON prints a line for each job.
func (a *app) listJSON(jobs []queue.Job, f queue.Filter, why func(*queue.Job) string) error {
	for i := range jobs {
		var line any = newListedJSON(&jobs[i])
		if f.Stuck {
			line = stuckJSON{newListedJSON(&jobs[i]), text(why(&jobs[i]))}
		}
		if err := a.printJSON(line); err != nil {
			return err
		}
	}
	return nil
}

// listTable prints a row for each job; the last column is the caller's.
func (a *app) listTable(jobs []queue.Job, paused map[string]bool, last string, about func(*queue.Job) string) error {
	rows := make([][]string, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		state := a.standing(j)
		if waits(j.State) && paused[j.Kind] {
			state += ", kind paused"
		}
		rows[i] = []string{strconv.FormatInt(j.ID, 10), brief(j.Kind+"/"+j.Key, 60), state, attempts(j), about(j)}
	}
	return a.table("ID JOB STATE ATTEMPT "+last, rows)
}

// lastError is why a job stands as it does, for people; empty where what once went
// wrong is over: the job has ended well, or a person has decided about it.
func lastError(j *queue.Job) string {
	failed := j.State == queue.StateDead || j.State == queue.StateQuarantined || waits(j.State) && j.Attempt > 0
	if !failed {
		return ""
	}
	return j.LastError
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
