package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
)

// runFlags are the flags of run.
type runFlags struct {
	untilIdle bool
	once      bool
	init      bool
}

func newRunCmd(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "run the service: claim jobs and hand them to handlers",
		Long: `Runs the service. The first SIGINT or SIGTERM drains: nothing more is claimed,
running jobs may end within shutdown.drain and are then stopped; exit 0. The
second kills everything at once and records it; exit 1. SIGHUP reads the
configuration again; a changed file is noticed anyway. A bad file changes
nothing.

--until-idle ends when nothing runs and nothing that this configuration can run
is due; what is left is listed; exit 1 if a handler does not start or free space
is below min_free. --once runs one job at most and prints how it ended as
{"outcome":…,"id":…}; exit 0 for completed and idle, else 1. Where jobs wait and
cannot be started for one of these reasons, the outcome is idle with a reason, and
the exit status 1. Both leave finished jobs and backups alone: the settings
retention and backup are for the service.

A database that is moved, deleted or replaced while it is in use ends the
service: what runs is killed at once and nothing more is recorded; exit 6.`,
		Example: `  bailiff run
  bailiff run --until-idle`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.once && f.untilIdle {
				return usage("--once and --until-idle: leave one out")
			}
			return a.run(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&f.untilIdle, "until-idle", false, "end when there is nothing to do")
	cmd.Flags().BoolVar(&f.once, "once", false, "run one job, wait for nothing")
	cmd.Flags().BoolVar(&f.init, "init", false, "make the database if it is missing")
	return cmd
}

// run opens what a service needs, in this order: configuration, state_dir,
// database; and closes it in the other.
func (a *app) run(ctx context.Context, f runFlags) error {
	if stop := a.signals.take(); stop {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // from here on the service decides what a signal means

	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	a.log = newPatientWriter(a.errOut, droppedLine(cfg.Log))
	a.errOut = a.log
	logger := newLogger(a.log, cfg.Log)
	state, err := lockStateDir(cfg.StateDir, cfg.Path)
	if err != nil {
		return err
	}
	defer state.release()
	opening, opened := a.signals.until(ctx)
	q, err := a.openForService(opening, logger.Named("queue"), f.init)
	opened()
	if errors.As(err, new(stopped)) {
		logger.Info("ended before the database was open", "reason", err)
		return nil
	}
	if err != nil {
		return err
	}
	s, err := newService(a, f, cfg, logger, state, q)
	if err == nil {
		err = s.run(ctx)
	}
	if f.untilIdle && (err == nil || errors.Is(err, supervisor.ErrFailing) || errors.Is(err, supervisor.ErrNoRoom)) {
		err = errors.Join(err, a.tellLeft(ctx, q, s))
	}
	if closing := q.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("close database: %w", closing))
	}
	return err
}

// openForService opens the database, brings its schema up to date, and makes it
// first where that was asked for and it is missing. Nothing else does so.
func (a *app) openForService(ctx context.Context, logger hclog.Logger, create bool) (*sqlite.Queue, error) {
	opt := sqlite.Options{Logger: logger, Migrate: true}
	q, err := a.open(ctx, opt)
	switch {
	case errors.Is(err, queue.ErrBusy):
		return nil, advise(err, "the database is as it was; %s can be started again when nobody works on it any more", a.command("run"))
	case !create || !errors.Is(err, queue.ErrNotFound):
		return q, err
	}
	if err := sqlite.Create(ctx, a.dbPath, a.placed(opt)); err != nil {
		return nil, err
	}
	return a.open(ctx, opt)
}

// tellLeft lists what a run until idle has left, and for whom it waits.
func (a *app) tellLeft(ctx context.Context, q *sqlite.Queue, s *service) error {
	m, err := q.Metrics(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(newMetricsJSON(m))
	}
	ended := "idle"
	if s.signalled.Load() {
		ended = "stopped"
	}
	waiting := m.Scheduled + m.Ready + m.Leased
	if waiting == 0 {
		a.say("%s: nothing is left to run", ended)
	} else {
		a.say("%s: %s left: %d ready, %d scheduled, %d leased", ended, plural(waiting, "job"), m.Ready, m.Scheduled, m.Leased)
	}
	a.tellTrouble(s.supervisor.Status(), m)
	a.tellPaused(m)
	a.tellDesk(m)
	return nil
}
