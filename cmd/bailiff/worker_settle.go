package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// newSettleCmds are the commands that end a run by hand.
func newSettleCmds(a *app) []*cobra.Command {
	return []*cobra.Command{
		newDoneCmd(a),
		newRetryCmd(a),
		newReasonCmd(a, queue.RunDead, "the job failed for good",
			`Records that the run failed and that no further try will help.`),
		newReasonCmd(a, queue.RunQuarantine, "nobody knows whether it happened",
			`Records that nobody knows whether the run's work happened. The job is not tried
again until a person decides.`),
		newSnoozeCmd(a),
	}
}

func newDoneCmd(a *app) *cobra.Command {
	var token, result string
	cmd := &cobra.Command{
		Use:   "done ID",
		Short: "the job is done",
		Long: `Records that the run did the job, with its result if there is one. Saying the
same again is fine (an answer can get lost).`,
		Example: `  bailiff worker done 12 < token
  bailiff worker done mail/welcome-42 --result '{"id":"m1"}'`,
		Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			outcome := queue.Outcome{Is: queue.RunDone}
			if cmd.Flags().Changed("result") {
				if result == "-" && token == "" && os.Getenv("BAILIFF_TOKEN") == "" {
					return usage("--result - and the token cannot both come from stdin: use $BAILIFF_TOKEN")
				}
				var err error
				if outcome.Result, err = a.readJSON("--result", result); err != nil {
					return err
				}
			}
			return a.settle(cmd.Context(), args[0], token, outcome)
		},
	}
	tokenFlag(cmd, &token)
	cmd.Flags().StringVar(&result, "result", "", "what came out: `JSON`, @FILE or - (stdin)")
	return cmd
}

func newRetryCmd(a *app) *cobra.Command {
	var token, after, base, longest string
	cmd := &cobra.Command{
		Use:   "retry ID REASON",
		Short: "it failed; try again later",
		Long: `Records that the run failed. The job is tried again after --after, or after
--base-delay doubled with every attempt up to --max-delay (default 1s, 60s); at
its attempt limit it is dead.`,
		Example: `  bailiff worker retry 12 "rate limited" --after 10m
  bailiff worker retry 12 "connection refused" --base-delay 5s --max-delay 1h`,
		Args: words(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if after != "" && (base != "" || longest != "") {
				return usage("--after says when; --base-delay and --max-delay do not go with it")
			}
			outcome := queue.Outcome{Is: queue.RunRetry, Reason: args[1]}
			var err error
			if outcome.After, err = optionalSpan(cmd, "after", after); err != nil {
				return err
			}
			if outcome.Backoff, err = backoff(base, longest); err != nil {
				return err
			}
			return a.settle(cmd.Context(), args[0], token, outcome)
		},
	}
	tokenFlag(cmd, &token)
	cmd.Flags().StringVar(&after, "after", "", "try again after `DURATION`")
	cmd.Flags().StringVar(&base, "base-delay", "", "`DURATION` after the first attempt")
	cmd.Flags().StringVar(&longest, "max-delay", "", "longest `DURATION` between attempts")
	return cmd
}

func newReasonCmd(a *app, is queue.RunEnd, short, long string) *cobra.Command {
	var token string
	cmd := &cobra.Command{
		Use:   string(is) + " ID REASON",
		Short: short,
		Long:  long,
		Example: "  bailiff worker " + string(is) + " 12 \"the card was stolen\" < token\n" +
			"  bailiff worker " + string(is) + " charge/inv-1001 \"the answer got lost\" --json",
		Args: words(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.settle(cmd.Context(), args[0], token, queue.Outcome{Is: is, Reason: args[1]})
		},
	}
	tokenFlag(cmd, &token)
	return cmd
}

func newSnoozeCmd(a *app) *cobra.Command {
	var token, after string
	cmd := &cobra.Command{
		Use:   "snooze ID",
		Short: "nothing was done; give it back",
		Long: `Gives a job back untouched: it costs no attempt, and it may be claimed again at
once or after --after.`,
		Example: `  bailiff worker snooze 12 < token
  bailiff worker snooze 12 --after 10m`,
		Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			outcome := queue.Outcome{Is: queue.RunSnooze}
			var err error
			if outcome.After, err = optionalSpan(cmd, "after", after); err != nil {
				return err
			}
			return a.settle(cmd.Context(), args[0], token, outcome)
		},
	}
	tokenFlag(cmd, &token)
	cmd.Flags().StringVar(&after, "after", "", "not before `DURATION` from now")
	return cmd
}

// optionalSpan is the value of a flag, nil where it was not given.
func optionalSpan(cmd *cobra.Command, flag, text string) (*time.Duration, error) {
	if !cmd.Flags().Changed(flag) {
		return nil, nil
	}
	d, err := parseSpan("--"+flag, text)
	return &d, err
}

// backoff reads --base-delay and --max-delay; the queue's own stand for what
// was not given.
func backoff(base, longest string) (queue.Backoff, error) {
	var b queue.Backoff
	var err error
	if base != "" {
		if b.Base, err = parseSpan("--base-delay", base); err != nil {
			return b, err
		}
	}
	if longest != "" {
		if b.Max, err = parseSpan("--max-delay", longest); err != nil {
			return b, err
		}
	}
	return b, b.Validate()
}

// settle ends a run and says where its job went.
func (a *app) settle(ctx context.Context, job, token string, outcome queue.Outcome) error {
	held, err := a.readToken(token)
	if err != nil {
		return err
	}
	return a.withQueue(ctx, func(q *sqlite.Queue) error {
		id, err := jobID(ctx, q, job)
		if err != nil {
			return err
		}
		settled, err := q.Settle(ctx, queue.Settlement{ID: id, Token: held, Outcome: outcome})
		if err != nil {
			return err
		}
		return a.showSettled(id, settled)
	})
}

// settledJSON answers the settling commands.
type settledJSON struct {
	ID          int64       `json:"id"`
	State       queue.State `json:"state"`
	AvailableAt *time.Time  `json:"available_at"`
	Attempt     int         `json:"attempt"`

	ExternalEffectsPossible bool    `json:"external_effects_possible"`
	Replay                  bool    `json:"replay"`
	Note                    *string `json:"note"`
}

func (a *app) showSettled(id int64, s queue.Settled) error {
	if a.json {
		out := settledJSON{
			ID: id, State: s.State, Attempt: s.Attempt,
			ExternalEffectsPossible: s.ExternalEffectsPossible, Replay: s.Replay, Note: text(s.Note),
		}
		if waits(s.State) {
			out.AvailableAt = moment(s.AvailableAt)
		}
		return a.printJSON(out)
	}
	line := string(s.State)
	if waits(s.State) {
		line += ", " + due(now(), s.AvailableAt)
	}
	if s.Replay {
		line += " (recorded before)"
	}
	if s.Note != "" {
		line += ": " + escape(s.Note)
	}
	a.say("#%d is %s", id, line)
	return nil
}
