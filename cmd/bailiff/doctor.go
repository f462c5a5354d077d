package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

func newDoctorCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "examine the database, or a snapshot: its file, what it counts, what lies beside it",
		Long: `Examines the database and prints a line for each thing looked at: ok, or WRONG with
what to do. It repairs nothing and changes nothing. It reads all of the file; a
service may go on meanwhile. With --db SNAPSHOT it verifies what backup made. Exit
1 if anything is wrong, 6 if the file is damaged or not a bailiff database.`,
		Example: `  bailiff doctor
  bailiff doctor --db /backup/bailiff-2026-11-30.db --json`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// doctorJSON answers doctor --json.
type doctorJSON struct {
	Database string        `json:"database"`
	OK       bool          `json:"ok"`
	Findings []findingJSON `json:"findings"`
}

type findingJSON struct {
	Check  string  `json:"check"`
	OK     bool    `json:"ok"`
	Detail *string `json:"detail"`
	Advice *string `json:"advice"`
}

func (a *app) doctor(ctx context.Context) error {
	path, err := a.locate()
	if err != nil {
		return err
	}
	bar := a.progress("examine", -1)
	report, err := sqlite.Examine(ctx, path, a.placed(a.forCommand()), a.known(path))
	_ = bar.Finish()
	if errors.Is(err, queue.ErrNotFound) {
		err = a.adviseMissing(err)
	}
	answer := doctorJSON{Database: path, OK: err == nil, Findings: []findingJSON{}}
	for _, f := range report.Findings {
		answer.OK = answer.OK && f.OK
		answer.Findings = append(answer.Findings, findingJSON{f.Check, f.OK, text(f.Detail), text(f.Advice)})
	}
	if a.json {
		if printing := a.printJSON(answer); printing != nil {
			return printing
		}
	} else {
		a.tellFindings(report)
	}
	if err != nil {
		return err
	}
	return verdict(report)
}

// known is what the configuration tells of a database.
func (a *app) known(database string) sqlite.Known {
	k := sqlite.Known{MinFree: config.DefaultMinFree, Newest: a.newestSnapshot(database)}
	if cfg := a.mayConfig(); cfg != nil && cfg.Database == database {
		k.MinFree = cfg.MinFree
	}
	return k
}

// verdict is how doctor ends.
func verdict(report sqlite.Report) error {
	status := exitFine
	for _, f := range report.Findings {
		switch {
		case f.NotOurs:
			return &endedError{exitNotOurs}
		case !f.OK:
			status = exitFailed
		}
	}
	if status == exitFine {
		return nil
	}
	return &endedError{status}
}

func (a *app) tellFindings(report sqlite.Report) {
	advised := map[string]bool{}
	for _, f := range report.Findings {
		word := "ok   "
		if !f.OK {
			word = "WRONG"
		}
		line := word + " " + f.Check
		if f.Detail != "" {
			line += ": " + escapeLines(f.Detail)
		}
		a.say("%s", line)
		if !f.OK && f.Advice != "" && !advised[f.Advice] {
			a.say("      %s", escapeLines(f.Advice))
			advised[f.Advice] = true
		}
	}
}
