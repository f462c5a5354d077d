package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newWorkerCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker COMMAND",
		Short: "be a worker by hand: claim a job, renew its lease, settle it",
		Long: `A worker by hand, for scripts and for trying things out. claim prints a job and
the token of its lease; every other command needs that token, from --token,
$BAILIFF_TOKEN or stdin (arguments can be seen by everybody on the machine).
Unless it is renewed the lease ends by its deadline, and the token with it.`,
		Example: `  bailiff worker claim alice --kind mail --lease 5m
  bailiff worker done 12 < token`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newClaimCmd(a), newRenewCmd(a))
	cmd.AddCommand(newSettleCmds(a)...)
	return cmd
}

// tokenFlag adds --token to a command.
func tokenFlag(cmd *cobra.Command, token *string) {
	cmd.Flags().StringVar(token, "token", "", "the lease's `TOKEN`; better: $BAILIFF_TOKEN or stdin")
}

// readToken is the token from --token, BAILIFF_TOKEN or the first line of stdin.
func (a *app) readToken(flag string) (queue.Token, error) {
	text := flag
	if text == "" {
		text = os.Getenv("BAILIFF_TOKEN")
	}
	if text == "" {
		if isTerminal(a.in.from) {
			return queue.Token{}, advise(usage("which token?"), "the one that worker claim printed: $BAILIFF_TOKEN, stdin or --token")
		}
		line, err := bufio.NewReader(io.LimitReader(a.in, 256)).ReadString('\n')
		if err != nil && err != io.EOF {
			return queue.Token{}, fmt.Errorf("read token: %w", err)
		}
		if text = strings.TrimSpace(line); text == "" {
			return queue.Token{}, advise(usage("which token?"), "the one that worker claim printed: $BAILIFF_TOKEN, stdin or --token")
		}
	}
	return queue.ParseToken(text)
}

// jobID is the id of the job that an argument names.
func jobID(ctx context.Context, q *sqlite.Queue, arg string) (int64, error) {
	ref, err := queue.ParseRef(arg)
	if err != nil || ref.ID != 0 {
		return ref.ID, err
	}
	job, err := q.Get(ctx, ref)
	return job.ID, err
}
