package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

func newStatusCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "show what runs and what waits for whom",
		Long: `Shows the service (its handlers, what they work on, which of them does not start
and why) and the queue: what waits for a handler, and what waits for you. Works
without a running service too.`,
		Example: `  bailiff status
  bailiff status --json`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.status(cmd.Context())
		},
	}
}

// statusJSON answers status --json. Service is null where none runs, or none can
// be seen.
type statusJSON struct {
	Service  *serviceStatus `json:"service"`
	Database string         `json:"database"`
	Space    spaceJSON      `json:"space"`
	Queue    metricsJSON    `json:"queue"`
}

func (a *app) status(ctx context.Context) error {
	service, unseen := a.service()
	told := a.json
	err := a.withQueue(ctx, func(q *sqlite.Queue) error {
		m, err := q.Metrics(ctx)
		if err != nil {
			return err
		}
		others, err := leasedJobs(ctx, q)
		if err != nil {
			return err
		}
		space := newSpaceJSON(q)
		if service != nil && service.Database == inJSON(q.Path()) {
			others = correctRuns(&service.Status, others)
			correctWaiting(&service.Status, m)
			a.correctDisk(&service.Status, space)
		}
		a.noteOtherDatabase(service, q, "shows")
		if a.json {
			if unseen != nil {
				a.note("whether a service runs here cannot be told: %s", escapeLines(unseen.Error()))
			}
			return a.printJSON(statusJSON{service, q.Path(), space, newMetricsJSON(m)})
		}
		told = true
		if err := a.showService(service, unseen, m); err != nil {
			return err
		}
		a.tellSpace(q, space)
		a.tellOthers(others)
		a.say("%s: %d ready, %d scheduled, %d leased, %d done, %d cancelled", escape(q.Path()), m.Ready, m.Scheduled, m.Leased, m.Done, m.Cancelled)
		if service != nil && service.Stage != stageStarting {
			a.tellTrouble(service.Status, m)
		} else if cfg := a.mayConfig(); cfg != nil {
			a.tellUnhandled(unhandledKinds(cfg.Handlers, m, cfg.Warnings))
		}
		a.tellPaused(m)
		a.tellDesk(m)
		return nil
	})
	if !told && (unseen == nil || !strings.Contains(err.Error(), unseen.Error())) { // the queue is out of reach: what the service says of itself is something
		err = errors.Join(err, a.showService(service, unseen, queue.Metrics{}))
	}
	return err
}

// service is the service that runs with the configuration found; nil if none
// does. The error is that nobody can tell.
func (a *app) service() (*serviceStatus, error) {
	cfg, err := a.loadConfig()
	if err == nil {
		return serviceIn(cfg.StateDir)
	}
	var broken *config.Error
	if !errors.As(err, &broken) {
		return nil, err
	}
	s, err := serviceIn(broken.StateDir)
	if s == nil && err == nil && broken.StateDirGuessed {
		err = errors.New("the configuration has errors, and which state_dir it means cannot be read")
	}
	return s, err
}

// noteOtherDatabase tells of a service here that serves another queue than the
// one that a command is about.
func (a *app) noteOtherDatabase(s *serviceStatus, q *sqlite.Queue, does string) {
	if s != nil && s.Database != "" && s.Database != inJSON(q.Path()) {
		a.note("note: the service that runs here (pid %d) uses %s; this %s %s", s.PID, escape(s.Database), does, escape(q.Path()))
	}
}

// showService shows a service and what it works on; unseen is why nobody can
// tell whether one runs, and m is empty where the queue is out of reach.
func (a *app) showService(s *serviceStatus, unseen error, m queue.Metrics) error {
	switch {
	case unseen != nil:
		a.say("whether a service runs here cannot be told: %s", escapeLines(unseen.Error()))
		return nil
	case s == nil:
		a.say("no service runs here; %s starts it", a.command("run"))
		return nil
	}
	a.say("service: %s, pid %d, since %s", s.Stage, s.PID, when(now(), s.StartedAt))
	a.tellOldReport(s)
	if s.Config != inJSON(a.configPath) {
		a.say("note: it runs with another configuration, %s", escape(s.Config))
	}
	if s.ReloadError != "" {
		a.say("the configuration was changed, and is not in use: the service still uses the one of %s", when(now(), s.LoadedAt))
		a.say("  %s", escapeLines(s.ReloadError))
	}
	if s.QueueError != "" {
		a.say("the database answered: %s", escape(s.QueueError))
	}
	if s.Stage == stageStarting {
		return nil
	}
	if s.Disk != nil {
		a.say("%s", diskLine(&s.Status))
	}
	for _, line := range upkeepLines(s.Upkeep, now()) {
		a.say("%s", line)
	}
	rows := make([][]string, len(s.Handlers))
	for i, h := range s.Handlers {
		rows[i] = []string{
			h.Kind, h.Protocol, fmt.Sprintf("%d/%d", h.Running, h.Slots),
			strconv.FormatInt(h.Waiting, 10), handlerState(h, m.Kinds[h.Kind].Paused),
		}
	}
	if err := a.table("HANDLER PROTOCOL RUNNING WAITING STATE", rows); err != nil {
		return err
	}
	for _, h := range s.Handlers {
		if h.LastFailure != nil {
			a.say("%s", a.failureLine(h))
		}
	}
	for _, r := range s.Running {
		a.say("%s", a.runLine(r))
	}
	return nil
}

// handlerState is how a handler stands, in a few words.
func handlerState(h supervisor.HandlerStatus, paused bool) string {
	var words []string
	switch {
	case h.Failing != "":
		words = append(words, "does not start")
	case h.LastFailure != nil:
		words = append(words, failedRuns(h))
	case h.Warning != "":
		words = append(words, brief(h.Warning, 80))
	}
	if paused {
		words = append(words, "paused")
	}
	return cmp.Or(strings.Join(words, ", "), "ok")
}

// diskLine says why no jobs are started, what goes on, and where the space is.
func diskLine(s *supervisor.Status) string {
	running, going := int64(len(s.Running)), "go on and are recorded"
	if running == 1 {
		going = "goes on and is recorded"
	}
	var waiting int64
	for _, h := range s.Handlers {
		waiting += h.Waiting
	}
	wait := "wait"
	if waiting == 1 {
		wait = "waits"
	}
	limit := "min_free"
	if s.Disk.Reserve {
		limit = "the reserve is given up"
	}
	return fmt.Sprintf("%s: %s free, below %s (%s): no new jobs are started. %s %s. %s %s. Here: database %s. Goes on by itself.",
		escape(s.Database), size(s.Disk.Free), size(s.Disk.Limit), limit, plural(running, "running job"), going,
		plural(waiting, "job"), wait, size(s.Disk.Database))
}

// failedRuns is "last run failed", "last 3 runs failed".
func failedRuns(h supervisor.HandlerStatus) string {
	if h.FailedInARow == 1 {
		return "last run failed"
	}
	return fmt.Sprintf("last %d runs failed", h.FailedInARow)
}

// failureLine says why a handler's runs fail.
func (a *app) failureLine(h supervisor.HandlerStatus) string {
	last := h.LastFailure
	line := fmt.Sprintf("%s: the %s, #%d %s", h.Kind, failedRuns(h), last.Job, relative(now(), last.At))
	if last.Reason != "" {
		line += ": " + brief(last.Reason, 200)
	}
	return line + " · " + a.command("history %d", last.Job)
}

// tellTrouble says which handlers do not start, and which jobs nobody handles.
func (a *app) tellTrouble(s supervisor.Status, m queue.Metrics) {
	handled := make(map[string]bool, len(s.Handlers))
	for _, h := range s.Handlers {
		handled[h.Kind] = true
		if h.Failing == "" {
			continue
		}
		next := ""
		if h.NextTry.After(now()) {
			next = ", next " + relative(now(), h.NextTry)
		}
		a.say("%s does not start (tried %s%s): %s", h.Kind, times(h.Tries), next, escape(h.Failing))
		a.say("  no job used an attempt; %s", waiting(h.Waiting))
	}
	var warnings []config.Diagnostic
	if cfg := a.mayConfig(); cfg != nil {
		warnings = cfg.Warnings
	}
	a.tellUnhandled(unhandledKinds(handled, m, warnings))
}

func (a *app) tellUnhandled(sentences []string) {
	for _, s := range sentences {
		a.say("%s", s)
	}
}

// tellDesk says what waits for a person.
func (a *app) tellDesk(m queue.Metrics) {
	if m.Quarantined+m.Dead > 0 {
		a.say("for you: %d quarantined, %d dead · %s", m.Quarantined, m.Dead, a.command("dead"))
	}
}
