package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

func newPauseCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "pause KIND…",
		Short: "let no more jobs of a kind begin",
		Long: `Keeps everybody from claiming jobs of a kind until resume, also over restarts.
What runs goes on to its end, and jobs are still accepted: they wait. A kind may
be paused before its first job if the configuration has a handler for it.`,
		Example: `  bailiff pause mail
  bailiff pause mail charge --json`,
		Args:              words(1, -1),
		ValidArgsFunction: a.completeKinds(func(paused bool) bool { return !paused }),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.pauseAll(cmd.Context(), args, true) },
	}
}

func newResumeCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "resume KIND…",
		Short: "let jobs of a paused kind begin again",
		Long: `Ends the pause of a kind: its jobs are claimed again at once. status, metrics and
list show which kinds are paused.`,
		Example: `  bailiff resume mail
  bailiff resume mail charge --json`,
		Args:              words(1, -1),
		ValidArgsFunction: a.completeKinds(func(paused bool) bool { return paused }),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.pauseAll(cmd.Context(), args, false) },
	}
}

// completeKinds completes kinds that are, or are not, paused.
func (a *app) completeKinds(fits func(paused bool) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		known := a.knownKinds()
		kinds := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(kind string) bool {
			return slices.Contains(args, kind) || !fits(known[kind].Paused)
		})
		return kinds, cobra.ShellCompDirectiveNoFileComp
	}
}

// pauseAll pauses or resumes kinds, one after the other, and answers with the
// first error after all of them were tried.
func (a *app) pauseAll(ctx context.Context, kinds []string, paused bool) error {
	return a.withQueue(ctx, func(q *sqlite.Queue) error {
		var first error
		for _, kind := range kinds {
			err := a.pause(ctx, q, kind, paused)
			if err != nil && first != nil {
				a.tellError("", err)
			} else if err != nil {
				first = err
			}
		}
		return first
	})
}

// pausedJSON answers pause and resume --json, one line for each kind.
type pausedJSON struct {
	Kind    string `json:"kind"`
	Paused  bool   `json:"paused"`
	Changed bool   `json:"changed"` // false: it was so before
}

func (a *app) pause(ctx context.Context, q *sqlite.Queue, kind string, paused bool) error {
	if err := queue.ValidKind(kind); err != nil {
		return err
	}
	m, err := q.Metrics(ctx)
	if err != nil {
		return err
	}
	k, had := m.Kinds[kind]
	cfg := a.mayConfig()
	if !had && (cfg == nil || cfg.Handlers[kind] == nil) {
		return unknownKind(kind, cfg, m)
	}
	if had || paused { // a kind that never was is not paused
		if err := q.Pause(ctx, kind, paused); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(pausedJSON{kind, paused, k.Paused != paused})
	}
	a.say("%s", a.pauseLine(kind, k, paused))
	return nil
}

// unknownKind is the error for a kind that nobody knows: most likely misspelt.
func unknownKind(kind string, cfg *config.Config, m queue.Metrics) error {
	err := fmt.Errorf("kind %q: no handler is called so, and it never had a job: %w", kind, queue.ErrNotFound)
	known := slices.Collect(maps.Keys(m.Kinds))
	if cfg != nil {
		known = slices.AppendSeq(known, maps.Keys(cfg.Handlers))
	}
	if near := config.Nearest(kind, known); near != "" {
		return advise(err, "did you mean %s?", near)
	}
	if len(known) == 0 {
		return err
	}
	slices.Sort(known)
	return advise(err, "kinds: %s", strings.Join(slices.Compact(known), " "))
}

// noteUnknownKind says that nobody knows the kind that a command selected by, if so.
func (a *app) noteUnknownKind(ctx context.Context, q *sqlite.Queue, kind string) {
	if kind == "" {
		return
	}
	m, err := q.Metrics(ctx)
	cfg := a.mayConfig()
	_, had := m.Kinds[kind]
	if err != nil || had || cfg != nil && cfg.Handlers[kind] != nil {
		return
	}
	unknown := unknownKind(kind, cfg, m)
	a.note("%s; %s", strings.TrimSuffix(unknown.Error(), ": "+queue.ErrNotFound.Error()), strings.Join(advices(unknown), "; "))
}

// pauseLine says what a pause or its end means; k is what stood before it.
func (a *app) pauseLine(kind string, k queue.KindMetrics, paused bool) string {
	waits, resume := waitingOfKind(k), a.command("resume %s", kind)
	switch {
	case paused && k.Paused:
		return fmt.Sprintf("%s was paused before: %s · %s", kind, waits, resume)
	case paused && k.Leased > 0:
		return fmt.Sprintf("%s paused: %s, and %s to the end · %s", kind, waits, goesOn(k.Leased), resume)
	case paused:
		return fmt.Sprintf("%s paused: %s · %s", kind, waits, resume)
	case !k.Paused:
		return fmt.Sprintf("%s was not paused", kind)
	default:
		return fmt.Sprintf("%s resumed: %s", kind, waits)
	}
}

// goesOn says that so many runs go on.
func goesOn(jobs int64) string {
	if jobs == 1 {
		return "the one that runs goes on"
	}
	return fmt.Sprintf("the %d that run go on", jobs)
}

// tellPaused says which kinds are paused and what waits for them.
func (a *app) tellPaused(m queue.Metrics) {
	for _, kind := range slices.Sorted(maps.Keys(m.Kinds)) {
		if k := m.Kinds[kind]; k.Paused {
			a.say("%s is paused: %s · %s", kind, waitingOfKind(k), a.command("resume %s", kind))
		}
	}
}

// pausedKinds are the kinds that are paused; none where that cannot be told now.
func pausedKinds(ctx context.Context, q *sqlite.Queue) map[string]bool {
	paused := map[string]bool{}
	m, err := q.Metrics(ctx)
	if err != nil {
		return paused
	}
	for kind, k := range m.Kinds {
		if k.Paused {
			paused[kind] = true
		}
	}
	return paused
}
