package proof

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// hammer lets all workers of all processes loose on one file and answers the history.
func hammer(t *testing.T, h hammering) (history []step) {
	t.Helper()
	path := filepath.Join(memoryFolder(t), "q.db")
	if err := sqlite.Create(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	outs := make([]bytes.Buffer, processes)
	var wg sync.WaitGroup
	for i := range processes {
		cmd := child(t, "hammer", path, i, h.requests, h.kinds, h.keys, int64(h.lease), int64(h.hold))
		cmd.Stdout = &outs[i]
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for i := range outs {
		var part []step
		if err := gob.NewDecoder(&outs[i]).Decode(&part); err != nil {
			t.Fatal(err)
		}
		history = append(history, part...)
	}
	if err := sound(path); err != nil {
		t.Error(err)
	}
	return history
}

// mustBeLinearizable fails the test unless some order of all requests, each between
// its call and its answer, explains all answers.
func mustBeLinearizable(t *testing.T, history []step) {
	t.Helper()
	began := time.Now()
	m, all := model(), operations(history)
	for _, part := range m.Partition(all) {
		result, info := porcupine.CheckOperationsVerbose(m, part, 0)
		if result != porcupine.Ok {
			t.Errorf("%s of %s:\n%s", result, part[0].Output.(step).Kind, around(part, info))
		}
	}
	counts := map[string]int{}
	unsure := 0
	for _, o := range history {
		word := o.Act
		if o.Outcome != "" {
			word += " " + o.Outcome
		}
		counts[word]++
		if !o.Sure {
			unsure++
		}
	}
	t.Logf("%d requests, %d of them asked again after an unknown outcome, checked in %v: %v", len(history), unsure, time.Since(began).Round(time.Millisecond), counts)
}

// around is the part of a history at which no order goes on.
func around(part []porcupine.Operation, info porcupine.LinearizationInfo) string {
	best := 0
	for _, partition := range info.PartialLinearizations() {
		for _, line := range partition {
			best = max(best, len(line))
		}
	}
	slices.SortFunc(part, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var lines []string
	for i := max(0, best-12); i < min(len(part), best+6); i++ {
		lines = append(lines, fmt.Sprintf("%+v", part[i].Output))
	}
	return fmt.Sprintf("%d of %d requests can be put in an order; then:\n%s", best, len(part), strings.Join(lines, "\n"))
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	mustBeLinearizable(t, hammer(t, hammering{requests: 200, kinds: 8, keys: keys, lease: time.Hour}))
}

// Leases that end under their holders, and are expired by whoever claims.
func TestLinearizableWithShortLeases(t *testing.T) {
	t.Parallel()
	mustBeLinearizable(t, hammer(t, hammering{requests: 60, kinds: 8, keys: 2, lease: time.Second, hold: 1500 * time.Millisecond}))
}

// The proof can fail: histories that no queue can have are found.
func TestHistoriesThatCannotBe(t *testing.T) {
	t.Parallel()
	history := hammer(t, hammering{requests: 100, kinds: 24, keys: 4, lease: time.Hour})
	mustBeLinearizable(t, history)
	find := func(from int, fits func(step) bool) int {
		for i := from; i < len(history); i++ {
			if fits(history[i]) {
				return i
			}
		}
		t.Fatal("the history has no such request")
		return -1
	}
	claim := func(o step) bool { return o.Act == "claim" && o.Found }
	// settled reports whether there is an answer that the run of a claim was settled.
	settled := func(c step) bool {
		return slices.ContainsFunc(history, func(o step) bool {
			return o.Act == "settle" && o.Outcome == "" && o.Kind == c.Kind && o.Key == c.Key && o.Fence == c.Fence
		})
	}
	// claimedNext reports whether the job was claimed after that run.
	claimedNext := func(s step) bool {
		return slices.ContainsFunc(history, func(o step) bool {
			return claim(o) && o.Kind == s.Kind && o.Key == s.Key && o.Fence == s.Fence+1
		})
	}
	for what, change := range map[string]func(bad []step) []step{
		"two claims changed places": func(bad []step) []step {
			i := find(0, claim)
			k := find(0, func(o step) bool {
				return claim(o) && o.Kind == bad[i].Kind && o.Key != bad[i].Key && o.Call > bad[i].Return
			})
			bad[i].Key, bad[k].Key = bad[k].Key, bad[i].Key
			bad[i].ID, bad[k].ID = bad[k].ID, bad[i].ID
			return bad
		},
		"a settle is missing": func(bad []step) []step {
			i := find(0, func(o step) bool {
				return o.Act == "settle" && o.Sure && o.Outcome == "" && !o.Replay && claimedNext(o)
			})
			key := bad[i]
			return slices.DeleteFunc(bad, func(o step) bool { // with all that asked for it again
				return o.Act == "settle" && o.Kind == key.Kind && o.Key == key.Key && o.Fence == key.Fence
			})
		},
		"a job is claimed twice": func(bad []step) []step {
			o := bad[find(0, claim)]
			o.Call, o.Return = o.Return+1, o.Return+2
			return append(bad, o)
		},
		"nothing is claimed while a job waits": func(bad []step) []step {
			i := find(0, func(o step) bool { return claim(o) && settled(o) })
			bad[i].Found = false
			return bad
		},
		"a lost lease settles": func(bad []step) []step {
			i := find(0, func(o step) bool { return o.Act == "settle" && o.Outcome == "lost" && o.Sure })
			bad[i].Outcome, bad[i].State = "", queue.StateDone
			return bad
		},
	} {
		bad := change(slices.Clone(history))
		began := time.Now()
		if porcupine.CheckOperations(model(), operations(bad)) {
			t.Errorf("%s: not found", what)
		}
		t.Logf("%s: found in %v", what, time.Since(began).Round(time.Millisecond))
	}
}
