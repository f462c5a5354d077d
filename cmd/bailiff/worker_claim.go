package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

// handLease is how long a claim by hand holds when not told.
const handLease = "30s"

func newClaimCmd(a *app) *cobra.Command {
	var (
		kinds []string
		lease string
	)
	cmd := &cobra.Command{
		Use:   "claim NAME",
		Short: "claim one job and print it with its token",
		Long: `Claims one job for the worker NAME and prints it with the token of its lease;
nothing else ever prints a token. With nothing to claim it says so (null with
--json) and ends with 0. What becomes of the job if the lease runs out is its
handler's rule where the configuration has one, else it is tried again.`,
		Example: `  bailiff worker claim alice --kind mail
  bailiff worker claim alice --lease 5m --json`,
		Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			length, err := parseSpan("--lease", lease)
			if err != nil {
				return err
			}
			cfg, err := a.loadConfig()
			if _, bad := errors.AsType[*config.Error](err); bad {
				return err // it may hold the rule that keeps a job from running twice
			}
			request := queue.ClaimRequest{Worker: args[0], Lease: length}
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				claimed, err := claimOne(cmd.Context(), q, request, kinds, cfg)
				if err != nil {
					return err
				}
				return a.showClaim(claimed)
			})
		},
	}
	cmd.Flags().StringSliceVar(&kinds, "kind", nil, "only of this `KIND` (may be repeated)")
	cmd.Flags().StringVar(&lease, "lease", handLease, "how long it holds: `DURATION`, 1s to 24h")
	completeFlag(cmd, "kind", a.kinds)
	return cmd
}

// claimOne claims the one job of the kinds that comes first. A lease carries the
// rule of its kind's handler, so each kind is named; none given means all there
// are. Nil: nothing to claim.
func claimOne(ctx context.Context, q *sqlite.Queue, request queue.ClaimRequest, kinds []string, cfg *config.Config) (*queue.Claimed, error) {
	if len(kinds) == 0 {
		m, err := q.Metrics(ctx)
		if err != nil {
			return nil, err
		}
		kinds = slices.DeleteFunc(slices.Sorted(maps.Keys(m.Kinds)), func(kind string) bool {
			return m.Kinds[kind].Ready+m.Kinds[kind].Leased == 0 // an expired lease may give a job with this very claim
		})
	}
	if len(kinds) == 0 {
		return nil, nil
	}
	request.Most = 1
	for _, kind := range kinds {
		request.Wants = append(request.Wants, queue.Want{Kind: kind, Max: 1, Rule: ruleOf(kind, cfg)})
	}
	claimed, err := q.Claim(ctx, request)
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	return &claimed[0], nil
}

// ruleOf is what decides about a claim by hand that nobody settles.
func ruleOf(kind string, cfg *config.Config) queue.Rule {
	if cfg == nil || cfg.Handlers[kind] == nil {
		return queue.Rule{Uncertain: queue.UncertainRetry}
	}
	h := cfg.Handlers[kind]
	rule := queue.Rule{MaxAttempts: h.Retry.MaxAttempts, Uncertain: queue.UncertainAsk}
	if h.Repeatable {
		rule.Uncertain = queue.UncertainRepeatable
	}
	return rule
}

// claimedJSON is a job and the token of its lease.
type claimedJSON struct {
	Job   jobJSON `json:",embed"`
	Token string  `json:"token"`
}

func (a *app) showClaim(c *queue.Claimed) error {
	switch {
	case c == nil && a.json:
		return a.printJSON(nil)
	case c == nil:
		a.say("nothing to claim")
		return nil
	case a.json:
		return a.printJSON(claimedJSON{newJobJSON(&c.Job), c.Lease.Token.Text()})
	}
	a.say("%s claimed for %s: attempt %s, fence %d", name(&c.Job), span(c.Lease.Length), attemptOf(&c.Job), c.Job.Fence)
	a.say("  payload    %s", escape(string(c.Job.Payload)))
	a.say("  token      %s", c.Lease.Token.Text())
	a.say("  then: BAILIFF_TOKEN=… %s (or renew, retry, dead, quarantine, snooze)", a.command("worker done %d", c.Job.ID))
	return nil
}

func newRenewCmd(a *app) *cobra.Command {
	var token, lease string
	cmd := &cobra.Command{
		Use:   "renew ID",
		Short: "keep a lease",
		Long: `Moves the deadline of a live lease; never shortens it and never revives one that
has ended (exit 5). Says whether somebody wants the job cancelled.`,
		Example: `  bailiff worker renew 12 < token
  bailiff worker renew 12 --lease 5m --json`,
		Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			length, err := parseSpan("--lease", lease)
			if err != nil {
				return err
			}
			held, err := a.readToken(token)
			if err != nil {
				return err
			}
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				id, err := jobID(cmd.Context(), q, args[0])
				if err != nil {
					return err
				}
				renewed, err := q.Renew(cmd.Context(), []queue.Renewal{{ID: id, Token: held, Length: length}})
				if err != nil {
					return err
				}
				if renewed[0].Err != nil {
					return renewed[0].Err
				}
				return a.showRenewed(id, renewed[0], length)
			})
		},
	}
	tokenFlag(cmd, &token)
	cmd.Flags().StringVar(&lease, "lease", handLease, "how long it holds from now: `DURATION`, 1s to 24h")
	return cmd
}

func (a *app) showRenewed(id int64, r queue.Renewed, asked time.Duration) error {
	expires := now().Add(r.Deadline - clock.System().Mono()).Round(time.Millisecond)
	if a.json {
		return a.printJSON(struct {
			ID              int64      `json:"id"`
			LeaseExpiresAt  *time.Time `json:"lease_expires_at"`
			CancelRequested bool       `json:"cancel_requested"`
		}{id, moment(expires), r.CancelRequested})
	}
	if expires.Sub(now()) > asked+time.Second {
		a.say("#%d holds until %s as before: a renewal never shortens a lease", id, when(now(), expires))
	} else {
		a.say("#%d renewed until %s", id, when(now(), expires))
	}
	if r.CancelRequested {
		a.say("  it is to be cancelled: stop, then settle it")
	}
	return nil
}
