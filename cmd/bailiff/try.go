package main

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
)

func newTryCmd(a *app) *cobra.Command {
	var key, meta string
	cmd := &cobra.Command{
		Use:   "try KIND [PAYLOAD]",
		Short: "run a handler once, outside the queue, and show the conversation",
		Long: `Runs the handler of KIND once with a payload (as for enqueue), in the environment
the service would give it, and shows what was sent (→), what came back (←), what
it wrote to stderr (!), and what would be recorded. Nothing is recorded. Exit 0
if the run would be done, else 1. Its effects outside are real.`,
		Example: `  bailiff try hello name=World
  bailiff try infer @prompt.json`,
		Args:              words(1, -1),
		ValidArgsFunction: a.completeKind,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.loadConfig()
			if err != nil {
				return err
			}
			handler := cfg.Handlers[args[0]]
			if handler == nil {
				return a.noHandler(cmd.Context(), args[0], cfg)
			}
			payload, err := a.payload(args[1:])
			if err != nil {
				return err
			}
			var extra jsontext.Value
			if meta != "" {
				if extra, err = a.readJSON("--meta", meta); err != nil {
					return err
				}
				if extra, err = queue.CheckMeta(extra); err != nil {
					return err
				}
			}
			database, err := a.locate()
			if err != nil {
				return err
			}
			binary, err := executable()
			if err != nil {
				return err
			}
			verdict, err := supervisor.Try(cmd.Context(), supervisor.TryOptions{
				Handler: handler, Payload: payload, Meta: extra, Key: key,
				Database: database, Binary: binary, Out: a.out,
			})
			if err == nil && verdict.Outcome.Is != queue.RunDone {
				err = &endedError{exitFailed}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&key, "key", "try", "the `KEY` that the handler sees")
	cmd.Flags().StringVar(&meta, "meta", "", "a `JSON` object that is passed along, or @FILE")
	return cmd
}
