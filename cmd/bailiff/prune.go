package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

// pruneFlags are the flags of prune as they were given.
type pruneFlags struct {
	done, dead, cancelled string
	kind                  string
	dryRun                bool
}

func newPruneCmd(a *app) *cobra.Command {
	var f pruneFlags
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "forget finished jobs whose time is over",
		Long: `Removes finished jobs with their payload, result and history, once they are older
than the configuration's retention or these flags say, and gives their space
back. Their keys stay taken: an enqueue of the same still adds nothing. Jobs that
are quarantined, or have an open effect, are never removed. A service that runs
does this by itself; small batches keep nobody waiting.`,
		Example: `  bailiff prune --dry-run
  bailiff prune --done 1d --dead forever --kind mail`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			keep, err := a.retention(f)
			if err != nil {
				return err
			}
			p := queue.Pruning{Keep: keep, Kind: f.kind, DryRun: f.dryRun}
			if err := p.Check(); err != nil {
				return err
			}
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				return a.prune(cmd.Context(), q, p)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.done, "done", "", "keep done jobs for `DURATION`, or forever")
	flags.StringVar(&f.dead, "dead", "", "keep dead jobs for `DURATION`, or forever")
	flags.StringVar(&f.cancelled, "cancelled", "", "keep cancelled jobs for `DURATION`, or forever")
	flags.StringVar(&f.kind, "kind", "", "only of this `KIND`")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count them and change nothing")
	completeFlag(cmd, "kind", a.kinds)
	return cmd
}

// retention is for how long finished jobs are kept: as the flags say, else the
// configuration, else, where there is none, as its defaults.
func (a *app) retention(f pruneFlags) (queue.Retention, error) {
	keep := queue.Retention{Done: config.DefaultKeepDone, Dead: config.DefaultKeepDead, Cancelled: config.DefaultKeepCancelled}
	cfg, err := a.loadConfig()
	switch {
	case err == nil:
		keep = cfg.Retention
	case f.done != "" && f.dead != "" && f.cancelled != "":
	case a.configFlag != "", !errors.As(err, new(*usageError)): // there is one, and what it says cannot be known
		return keep, err
	}
	for _, flag := range []struct {
		name, text string
		keep       *time.Duration
	}{{"--done", f.done, &keep.Done}, {"--dead", f.dead, &keep.Dead}, {"--cancelled", f.cancelled, &keep.Cancelled}} {
		if flag.text == "" {
			continue
		}
		if *flag.keep, err = parseKeep(flag.name, flag.text); err != nil {
			return keep, err
		}
	}
	return keep, nil
}

// parseKeep reads for how long something is kept; forever is 0.
func parseKeep(name, text string) (time.Duration, error) {
	if text == "forever" {
		return 0, nil
	}
	d, err := parseSpan(name, text)
	switch {
	case err != nil:
		return 0, usage("%s, or forever", err)
	case d == 0:
		return 0, advise(usage("%s %s: above 0, or forever", name, escape(text)), "%s 1ms removes all that are finished now", name)
	}
	return d, nil
}

// prunedJSON answers prune --json. In a dry run freed_bytes is 0. States are counted
// before: what ends meanwhile is in jobs alone.
type prunedJSON struct {
	DryRun bool  `json:"dry_run"`
	Jobs   int64 `json:"jobs"`
	Freed  int64 `json:"freed_bytes"`

	States map[queue.State]int64 `json:"states"`
}

func (a *app) prune(ctx context.Context, q *sqlite.Queue, p queue.Pruning) error {
	states, total, err := countPrunable(ctx, q, p)
	if err != nil {
		return err
	}
	if total == 0 {
		a.noteUnknownKind(ctx, q, p.Kind)
	}
	if p.DryRun {
		if a.json {
			return a.printJSON(prunedJSON{DryRun: true, Jobs: total, States: states})
		}
		a.say("%s would be pruned: %s", plural(total, "job"), keptWords(p.Keep, states))
		return nil
	}
	var done queue.Pruned
	err = a.pruneBatches(ctx, q, p, total, &done)
	if a.json {
		return errors.Join(err, a.printJSON(prunedJSON{Jobs: done.Jobs, Freed: done.Freed, States: states}))
	}
	if err == nil || done.Jobs > 0 {
		a.say("%s pruned, %s given back: %s", plural(done.Jobs, "job"), size(done.Freed), keptWords(p.Keep, states))
	}
	return err
}

// countPrunable counts what could be pruned, by state and in all.
func countPrunable(ctx context.Context, q *sqlite.Queue, p queue.Pruning) (states map[queue.State]int64, total int64, err error) {
	states = map[queue.State]int64{}
	for state, keep := range map[queue.State]queue.Retention{
		queue.StateDone:      {Done: p.Keep.Done},
		queue.StateDead:      {Dead: p.Keep.Dead},
		queue.StateCancelled: {Cancelled: p.Keep.Cancelled},
	} {
		counted, err := q.Prune(ctx, queue.Pruning{Keep: keep, Kind: p.Kind, DryRun: true})
		if err != nil {
			return nil, 0, err
		}
		states[state] = counted.Jobs
		total += counted.Jobs
	}
	return states, total, nil
}

// pruneBatches prunes until nothing is left to do. It rests for as long as each
// batch took: others want to write too.
func (a *app) pruneBatches(ctx context.Context, q *sqlite.Queue, p queue.Pruning, total int64, done *queue.Pruned) error {
	if total == 0 {
		total = -1 // there may be space to give back
	}
	bar := a.progress("prune", total, inJobs())
	defer func() { _ = bar.Finish() }()
	for {
		began := now()
		batch, err := q.Prune(ctx, p)
		if err != nil {
			return err
		}
		done.Jobs += batch.Jobs
		done.Freed += batch.Freed
		_ = bar.Add64(batch.Jobs)
		if !batch.More {
			return nil
		}
		if err := rest(ctx, max(5*time.Millisecond, now().Sub(began))); err != nil {
			return fmt.Errorf("prune: %w", err)
		}
	}
}

// keptWords says how many jobs of each state, and for how long such jobs are kept.
func keptWords(keep queue.Retention, states map[queue.State]int64) string {
	var words []string
	for _, one := range []struct {
		state queue.State
		keep  time.Duration
	}{{queue.StateDone, keep.Done}, {queue.StateCancelled, keep.Cancelled}, {queue.StateDead, keep.Dead}} {
		kept := "for ever"
		if one.keep > 0 {
			kept = span(one.keep)
		}
		words = append(words, fmt.Sprintf("%d %s (kept %s)", states[one.state], one.state, kept))
	}
	return strings.Join(words, ", ")
}
