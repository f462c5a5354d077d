package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newMetricsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "metrics",
		Short: "count jobs by kind and state",
		Long: `Counts jobs by kind and state, with how long the oldest due job of each kind
has been waiting. A scheduled job that is due counts as ready.`,
		Example: `  bailiff metrics
  bailiff metrics --json`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				m, err := q.Metrics(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(newMetricsJSON(m))
				}
				return a.showMetrics(m)
			})
		},
	}
}

func (a *app) showMetrics(m queue.Metrics) error {
	row := func(label string, c queue.Counts, oldest string) []string {
		cells := []string{label}
		for _, n := range []int64{c.Scheduled, c.Ready, c.Leased, c.Done, c.Dead, c.Quarantined, c.Cancelled} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		return append(cells, oldest)
	}
	var rows [][]string
	for _, kind := range slices.Sorted(maps.Keys(m.Kinds)) {
		k := m.Kinds[kind]
		oldest := ""
		if k.HasOldestReady {
			oldest = span(k.OldestReady)
		}
		if k.Paused {
			kind += " (paused)"
		}
		rows = append(rows, row(kind, k.Counts, oldest))
	}
	rows = append(rows, row("all", m.Counts, ""))
	return a.table("KIND SCHEDULED READY LEASED DONE DEAD QUARANTINED CANCELLED OLDEST", rows)
}

// countWords is the counts that are not 0, in a sentence.
func countWords(c queue.Counts) string {
	var words []string
	for _, one := range []struct {
		n    int64
		what queue.State
	}{
		{c.Scheduled, queue.StateScheduled}, {c.Ready, queue.StateReady}, {c.Leased, queue.StateLeased}, {c.Done, queue.StateDone},
		{c.Dead, queue.StateDead}, {c.Quarantined, queue.StateQuarantined}, {c.Cancelled, queue.StateCancelled},
	} {
		if one.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

type countsJSON struct {
	Scheduled   int64 `json:"scheduled"`
	Ready       int64 `json:"ready"`
	Leased      int64 `json:"leased"`
	Done        int64 `json:"done"`
	Dead        int64 `json:"dead"`
	Quarantined int64 `json:"quarantined"`
	Cancelled   int64 `json:"cancelled"`
}

type metricsJSON struct {
	Counts countsJSON             `json:",embed"`
	Kinds  map[string]kindMetrics `json:"kinds"`
}

type kindMetrics struct {
	Counts countsJSON `json:",embed"`
	Paused bool       `json:"paused"`
	// OldestReadySeconds is how long the oldest due job waits; null without one.
	OldestReadySeconds *float64 `json:"oldest_ready_seconds"`
}

func newMetricsJSON(m queue.Metrics) metricsJSON {
	out := metricsJSON{Counts: countsJSON(m.Counts), Kinds: make(map[string]kindMetrics, len(m.Kinds))}
	for kind, k := range m.Kinds {
		one := kindMetrics{Counts: countsJSON(k.Counts), Paused: k.Paused}
		if k.HasOldestReady {
			seconds := k.OldestReady.Seconds()
			one.OldestReadySeconds = &seconds
		}
		out.Kinds[kind] = one
	}
	return out
}
