package queuetest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// rules are the sentences of one subject, each with the test that it holds. The
// test has a new, empty queue.
type rules map[string]func(*fixture)

// subjects are what the suite is about.
var subjects = map[string]rules{
	"table":     tableRules(),
	"outcome":   outcomeRules,
	"bounds":    boundRules,
	"enqueue":   enqueueRules,
	"many":      enqueueManyRules,
	"claim":     claimRules,
	"pause":     pauseRules,
	"due":       dueRules,
	"lease":     leaseRules,
	"expiry":    expiryRules,
	"boot":      bootRules,
	"replay":    replayRules,
	"attempts":  attemptRules,
	"person":    personRules,
	"requeue":   requeueManyRules,
	"rerun":     rerunRules,
	"prune":     pruneRules,
	"restore":   restoreRules,
	"list":      listRules,
	"stuck":     stuckRules,
	"history":   historyRules,
	"metrics":   metricsRules,
	"agenda":    agendaRules,
	"changes":   changesRules,
	"end":       endRules,
	"cancelled": contextRules,
	"crowd":     crowdRules,
}

// Run puts an engine through every rule of a queue. Each rule is a test of its own
// on a queue of its own, named so that a failure reads as the sentence that does not
// hold. They run in parallel.
func Run(t *testing.T, e Engine) {
	for _, subject := range slices.Sorted(maps.Keys(subjects)) {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			for _, rule := range slices.Sorted(maps.Keys(subjects[subject])) {
				t.Run(strings.ReplaceAll(rule, "/", "-"), func(t *testing.T) {
					t.Parallel()
					subjects[subject][rule](newFixture(t, e))
				})
			}
		})
	}
}
