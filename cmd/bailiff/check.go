package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/process"
)

func newCheckCmd(a *app) *cobra.Command {
	var effective bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "say what would run, and what would not",
		Long: `Loads the configuration as the service would, looks whether each handler could
start, and whether the database is there. Starts nothing and changes nothing.
--effective prints every setting with where it comes from, and says which of
them deserves a second thought. Exit 2 if the configuration has errors; as run
would end if the database cannot be used (4 missing, 6 foreign, newer or
damaged); 1 if a handler would not start.`,
		Example: `  bailiff check
  bailiff check --effective --config new.hcl`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.loadConfig()
			if err != nil {
				return err
			}
			report, err := a.examine(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			if effective {
				report.advise(cfg)
			}
			if a.json {
				err = a.printJSON(report)
			} else {
				err = a.showReport(cfg, report, effective)
			}
			if err == nil && report.status != exitFine {
				err = &endedError{report.status}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&effective, "effective", false, "print every setting and where it comes from")
	return cmd
}

// checkReport is what check found; --json prints it.
type checkReport struct {
	Config   string         `json:"config"`
	Database string         `json:"database"`
	Handlers []checkHandler `json:"handlers"`
	Warnings []string       `json:"warnings"`

	DatabaseProblem *string `json:"database_problem"` // why the service would not start

	status   int            // of the command
	Settings []checkSetting `json:"settings,omitzero"`
}

type checkHandler struct {
	Kind     string   `json:"kind"`
	Protocol string   `json:"protocol"`
	Slots    int      `json:"slots"`
	Command  []string `json:"command"`
	Source   string   `json:"source"`
	Problem  *string  `json:"problem"` // why it would not start
}

type checkSetting struct {
	Block string `json:"block"`
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// examine looks at everything that a service would need.
func (a *app) examine(ctx context.Context, cfg *config.Config) (*checkReport, error) {
	binary, err := executable()
	if err != nil {
		return nil, err
	}
	database, err := a.locate()
	if err != nil {
		return nil, err
	}
	report := &checkReport{Config: cfg.Path, Database: database, Handlers: []checkHandler{}, Warnings: []string{}}
	for _, kind := range slices.Sorted(maps.Keys(cfg.Handlers)) {
		h := cfg.Handlers[kind]
		path := supervisor.EnvironmentPath(supervisor.Environment(h, database, binary))
		one := checkHandler{Kind: kind, Protocol: string(h.Protocol), Slots: h.Concurrency, Command: h.ShownCommand, Source: h.Source}
		if err := process.Diagnose(h.Command, h.Dir, path); err != nil {
			one.Problem = text(err.Error())
			report.status = exitFailed
		}
		report.Handlers = append(report.Handlers, one)
	}
	for _, w := range cfg.Warnings {
		report.warn(w.String())
	}
	a.examineQueue(ctx, cfg, report)
	if b := cfg.Backup; b != nil {
		if err := mayBackUp(b.Folder, b.Make); err != nil {
			report.warn("no backup can be made: " + err.Error())
		}
	}
	switch s, err := serviceIn(cfg.StateDir); {
	case err != nil:
		report.warn("whether a service runs here cannot be told: " + err.Error())
	case s != nil && s.Config != inJSON(cfg.Path):
		report.warn("a service runs here with " + s.Config + " (pid " + strconv.Itoa(s.PID) + ")")
	}
	return report, nil
}

// examineQueue looks whether the database is usable, and warns of jobs that wait
// for nobody.
func (a *app) examineQueue(ctx context.Context, cfg *config.Config, report *checkReport) {
	q, err := a.open(ctx, sqlite.Options{})
	switch {
	case errors.Is(err, queue.ErrNotFound):
		report.refuse(err, strings.Join(append(sentences(err), advices(err)...), "; "))
		return
	case errors.Is(err, queue.ErrOlder):
		report.warn(strings.Join(sentences(err), "; "))
		return
	case err != nil:
		report.refuse(err, strings.Join(append(sentences(err), a.damageRemedies(err)...), "; "))
		return
	}
	defer q.Close()
	m, err := q.Metrics(ctx)
	if err != nil {
		report.refuse(err, strings.Join(append(sentences(err), a.damageRemedies(err)...), "; "))
		return
	}
	for _, sentence := range unhandledKinds(cfg.Handlers, m, cfg.Warnings) {
		// The warning about a file that was meant to be the handler is told once.
		report.Warnings = slices.DeleteFunc(report.Warnings, func(w string) bool { return strings.HasPrefix(sentence, escape(w)) })
		report.warn(sentence)
	}
}

// mayBackUp answers nil if snapshots can be put into the folder, or it would be made
// and can be.
func mayBackUp(folder string, made bool) error {
	info, err := os.Stat(folder)
	if made && errors.Is(err, fs.ErrNotExist) {
		folder = filepath.Dir(folder) // only the folder itself is made
		info, err = os.Stat(folder)
	}
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", folder)
	}
	if err := unix.Access(folder, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s cannot be written: %w", folder, err)
	}
	return nil
}

// refuse notes why the service would not start at all.
func (r *checkReport) refuse(err error, text string) {
	r.DatabaseProblem, r.status = &text, exitStatus(err)
}

func (r *checkReport) warn(text string) { r.Warnings = append(r.Warnings, text) }

// advise adds every setting, and what deserves a second thought.
func (r *checkReport) advise(cfg *config.Config) {
	for _, s := range cfg.Effective() {
		r.Settings = append(r.Settings, checkSetting(s))
	}
	var promises []string
	of := map[string][]string{} // the kinds that each is about: one cause is told once
	for _, h := range r.Handlers {
		for _, promise := range cfg.Handlers[h.Kind].Promises(cfg.Shutdown.Drain) {
			if of[promise] == nil {
				promises = append(promises, promise)
			}
			of[promise] = append(of[promise], h.Kind)
		}
	}
	for _, promise := range promises {
		r.warn(strings.Join(of[promise], ", ") + ": " + promise)
	}
}

func (a *app) showReport(cfg *config.Config, r *checkReport, effective bool) error {
	for _, line := range a.which() {
		a.say("%s", line)
	}
	rows := make([][]string, len(r.Handlers))
	for i, h := range r.Handlers {
		rows[i] = []string{h.Kind, h.Protocol, strconv.Itoa(h.Slots), brief(strings.Join(h.Command, " "), 80)}
	}
	if len(rows) == 0 {
		a.say("no handlers: put an executable file into %s", escape(cfg.HandlersDir))
	} else if err := a.table("HANDLER PROTOCOL SLOTS COMMAND", rows); err != nil {
		return err
	}
	if effective {
		settings := make([][]string, len(r.Settings))
		for i, s := range r.Settings {
			settings[i] = []string{strings.TrimSpace(s.Block + " " + s.Name), escape(s.Value), escape(s.From)}
		}
		if err := a.table("SETTING VALUE FROM", settings); err != nil {
			return err
		}
	}
	if r.DatabaseProblem != nil {
		a.say("the service would not start: %s", escapeLines(*r.DatabaseProblem))
	}
	for _, h := range r.Handlers {
		if h.Problem != nil {
			a.say("%s would not start: %s", h.Kind, escapeLines(*h.Problem))
		}
	}
	for _, w := range r.Warnings {
		a.say("warning: %s", escapeLines(w))
	}
	return nil
}
