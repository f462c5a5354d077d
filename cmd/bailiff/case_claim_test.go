package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// N48: four processes ask for the one job there is, forty times over. One of them
// gets it, the others are told that there is nothing; all end well.
func TestFourProcessesOneJob(t *testing.T) {
	t.Parallel()
	const rounds, claimers = 40, 4
	s := newSite(t, "")
	var jobs strings.Builder
	for round := range rounds {
		fmt.Fprintf(&jobs, `{"kind":"round-%d","key":"only"}`+"\n", round)
	}
	s.write("jobs.ndjson", jobs.String(), 0o644)
	s.run(0, "enqueue", "--from", "jobs.ndjson")

	var winners []string
	tokens := map[string]bool{}
	for round := range rounds {
		kind := fmt.Sprintf("round-%d", round)
		winner := s.race(claimers, kind)
		if tokens[winner.Token] {
			t.Errorf("round %d: token given out before", round)
		}
		tokens[winner.Token] = true
		winners = append(winners, winner.Worker)
	}
	lines := strings.Split(strings.TrimSpace(s.run(0, "list", "--state", "leased", "--json")), "\n")
	if len(lines) != rounds {
		t.Fatalf("%d jobs are leased, want %d", len(lines), rounds)
	}
	for round, line := range lines {
		var stands claimAnswer
		if err := json.Unmarshal([]byte(line), &stands); err != nil {
			t.Fatal(err)
		}
		if stands.Worker != winners[round] || stands.Attempt != 1 || stands.Fence != 1 {
			t.Errorf("round %d: %s has won, and the job stands as %+v", round, winners[round], stands)
		}
	}
}

// claimAnswer is what of a claim or a job is compared.
type claimAnswer struct {
	Worker  string `json:"worker"`
	Attempt int    `json:"attempt"`
	Fence   int64  `json:"fence"`
	Token   string `json:"token"`
}

// race lets so many processes claim at once and answers what the one that won
// was told.
func (s *site) race(claimers int, kind string) (winner claimAnswer) {
	s.t.Helper()
	answers := make([]bytes.Buffer, claimers)
	complaints := make([]bytes.Buffer, claimers)
	ends := make([]error, claimers)
	wait := make([]func() error, claimers)
	for i := range claimers {
		cmd := s.command("worker", "claim", fmt.Sprintf("claimer-%d", i), "--kind", kind, "--lease", "1h", "--json")
		cmd.Stdout, cmd.Stderr = &answers[i], &complaints[i]
		if err := cmd.Start(); err != nil {
			s.t.Fatal(err)
		}
		wait[i] = cmd.Wait
	}
	for i := range claimers {
		ends[i] = wait[i]()
	}
	winners := 0
	for i := range claimers {
		if ends[i] != nil || complaints[i].Len() > 0 {
			s.t.Errorf("%s: claimer-%d ended with %v: %s", kind, i, ends[i], complaints[i].Bytes())
		}
		if strings.TrimSpace(answers[i].String()) == "null" {
			continue
		}
		winners++
		if err := json.Unmarshal(answers[i].Bytes(), &winner); err != nil {
			s.t.Fatalf("%s: claimer-%d was answered %q: %v", kind, i, answers[i].Bytes(), err)
		}
		if want := fmt.Sprintf("claimer-%d", i); winner.Worker != want {
			s.t.Errorf("%s: %s was given the lease of %s", kind, want, winner.Worker)
		}
	}
	if winners != 1 {
		s.t.Errorf("%s: %d winners, want 1", kind, winners)
	}
	return winner
}
