package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newRerunCmd(a *app) *cobra.Command {
	var reviewed bool
	cmd := &cobra.Command{
		Use:   "rerun ID NEWKEY",
		Short: "do a finished job again, as a new job under a new key",
		Long: `Makes a new job like a done, dead or cancelled one: its kind, payload, meta,
priority and attempt limit, under a key of its own. The histories of both say so.
The same again answers with the job that is there, as for enqueue. A job that may
have done something outside needs --reviewed: your word that you looked.`,
		Example: `  bailiff rerun 812 welcome-42-again
  bailiff rerun charge/inv-1001 inv-1001-b --reviewed`,
		Args: words(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := queue.ParseRef(args[0])
			if err != nil {
				return err
			}
			if queue.LooksLikePayload(args[1]) {
				return advise(usage("'%s' looks like a payload, not a key", brief(args[1], 60)), "the new job has the payload of the old one: %s", strings.TrimSpace(cmd.UseLine()))
			}
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				return a.rerun(cmd.Context(), q, ref, queue.Rerun{Key: args[1], Reviewed: reviewed})
			})
		},
	}
	cmd.Flags().BoolVar(&reviewed, "reviewed", false, "you looked whether its work happened, and want it done again")
	return cmd
}

func (a *app) rerun(ctx context.Context, q *sqlite.Queue, ref queue.Ref, r queue.Rerun) error {
	got, err := q.Rerun(ctx, ref, r)
	switch {
	case errors.Is(err, queue.ErrConflict):
		return a.adviseRerun(ctx, q, ref, r, err)
	case errors.Is(err, queue.ErrUnknown):
		return advise(err, sameAgain)
	case err != nil:
		return a.adviseAbsent(err, ref)
	}
	if a.json {
		if beside := a.besideEnqueued(ctx, q, got); beside != "" {
			a.note("%s", beside)
		}
		return a.printJSON(newEnqueuedJSON(got, ""))
	}
	a.tellEnqueued(ctx, q, got, false)
	return nil
}

// adviseRerun says what to do about a job that is not run again.
func (a *app) adviseRerun(ctx context.Context, q *sqlite.Queue, ref queue.Ref, r queue.Rerun, err error) error {
	old, getErr := q.Get(ctx, ref)
	if getErr != nil {
		return err
	}
	word := shellword.Quote(r.Key)
	switch {
	case old.State == queue.StateQuarantined:
		return advise(err, "%s", a.nextCommands(&old))
	case old.Key == r.Key:
		return advise(err, "choose one: %s", a.command("rerun %d NEWKEY", old.ID))
	case !old.State.Finished():
		return advise(err, "%s shows how it stands", a.command("get %d", old.ID))
	case old.NeedsReview && !r.Reviewed:
		return advise(err, "look whether its work happened (%s); if doing it again is right: %s",
			a.command("history %d", old.ID), a.command("rerun %d %s --reviewed", old.ID, word))
	}
	return advise(err, "nothing changed; %s shows what is there; another job needs another key", a.command("get %s", shellword.Quote(old.Kind+"/"+r.Key)))
}
