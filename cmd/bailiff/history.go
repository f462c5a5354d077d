package main

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newHistoryCmd(a *app) *cobra.Command {
	limit := queue.DefaultHistory
	cmd := &cobra.Command{
		Use:   "history ID",
		Short: "show what happened to a job, oldest first",
		Long: `Shows every transition of a job with its run (fence), worker and reason. Claims
that were given back again and again are folded into one pair with a count.`,
		Example: `  bailiff history 12
  bailiff history mail/welcome-42 --limit 1000 --json`,
		Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := queue.ParseRef(args[0])
			if err != nil {
				return err
			}
			if limit < 1 || limit > queue.MaxHistory {
				return usage("--limit %d is out of range: 1 to %d", limit, queue.MaxHistory)
			}
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				job, err := q.Get(cmd.Context(), ref)
				if err != nil {
					return a.adviseAbsent(&actError{err, "get", "history"}, ref)
				}
				entries, err := q.History(cmd.Context(), job.ID, limit)
				if err != nil {
					return err
				}
				return a.showHistory(entries)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", queue.DefaultHistory, "the newest `N` entries, 1 to 10000")
	return cmd
}

func (a *app) showHistory(entries []queue.Entry) error {
	if a.json {
		for _, e := range entries {
			if err := a.printJSON(newEntryJSON(e)); err != nil {
				return err
			}
		}
		return nil
	}
	rows := make([][]string, len(entries))
	for i, e := range entries {
		detail := brief(shortDigest(e.Detail), 300)
		if e.Count > 1 {
			detail = fmt.Sprintf("%d times, last %s; %s", e.Count, relative(now(), e.LastAt), detail)
		}
		move := string(e.To)
		if e.From != "" && e.From != e.To {
			move = string(e.From) + " → " + move
		}
		rows[i] = []string{
			local(e.At), string(e.Event), move,
			strconv.Itoa(e.Attempt), strconv.FormatInt(e.Fence, 10), escape(e.Worker), detail,
		}
	}
	return a.table("AT EVENT STATE ATTEMPT FENCE WORKER DETAIL", rows)
}

// handlerDigest is how a claim's entry names the file that the run was given to.
var handlerDigest = regexp.MustCompile(`^(handler sha256 [0-9a-f]{12})[0-9a-f]{52}\b`)

// shortDigest shows of the handler's digest what a person compares; --json has
// all of it.
func shortDigest(detail string) string { return handlerDigest.ReplaceAllString(detail, "$1") }

// entryJSON is one row of a history. The last three are there only where a row
// stands for several claims that were given back.
type entryJSON struct {
	At      *time.Time   `json:"at"`
	Event   queue.Event  `json:"event"`
	From    *queue.State `json:"from"`
	To      queue.State  `json:"to"`
	Attempt int          `json:"attempt"`
	Fence   int64        `json:"fence"`
	Worker  *string      `json:"worker"`
	Detail  *string      `json:"detail"`

	Count     int64      `json:"count,omitzero"`
	LastAt    *time.Time `json:"last_at,omitzero"`
	LastFence int64      `json:"last_fence,omitzero"`
}

func newEntryJSON(e queue.Entry) entryJSON {
	out := entryJSON{
		At: moment(e.At), Event: e.Event, To: e.To, Attempt: e.Attempt, Fence: e.Fence,
		Worker: text(e.Worker), Detail: text(e.Detail),
	}
	if e.From != "" {
		out.From = &e.From
	}
	if e.Count > 1 {
		out.Count, out.LastAt, out.LastFence = e.Count, moment(e.LastAt), e.LastFence
	}
	return out
}
