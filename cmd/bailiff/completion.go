package main

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newCompletionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "print a script that completes commands, kinds and states",
		Long: `Prints the completion script for a shell. It completes commands and flags, and
the kinds and states of your queue.`,
		Example: `  source <(bailiff completion bash)
  bailiff completion fish > ~/.config/fish/completions/bailiff.fish`,
		Args:      words(1, 1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			default:
				return usage("no completion for %s: bash, zsh or fish", escape(args[0]))
			}
		},
	}
}

// kinds lists the kinds that handlers or jobs have, as far as they can be found.
func (a *app) kinds() []string { return slices.Sorted(maps.Keys(a.knownKinds())) }

// knownKinds are those kinds with what the queue counts of them.
func (a *app) knownKinds() map[string]queue.KindMetrics {
	found := map[string]queue.KindMetrics{}
	if cfg := a.mayConfig(); cfg != nil {
		for kind := range cfg.Handlers {
			found[kind] = queue.KindMetrics{}
		}
	}
	ctx := context.Background()
	if q, err := a.open(ctx, sqlite.Options{}); err == nil {
		defer q.Close()
		if m, err := q.Metrics(ctx); err == nil {
			maps.Copy(found, m.Kinds)
		}
	}
	return found
}

// completeFlag lets the shell complete a flag's value from what list answers.
func completeFlag(cmd *cobra.Command, flag string, list func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag does not exist: a mistake in the command
	}
}

// completeKind completes the first argument as a kind.
func (a *app) completeKind(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.kinds(), cobra.ShellCompDirectiveNoFileComp
}
