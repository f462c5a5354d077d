package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	group "github.com/oklog/run"

	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/upkeep"
)

// service is a run: the supervisor and what stands beside it.
type service struct {
	app        *app
	flags      runFlags
	first      *config.Config
	current    atomic.Pointer[config.Config]
	logger     hclog.Logger
	state      *stateDir
	watcher    *config.Watcher
	supervisor *supervisor.Supervisor
	upkeep     *upkeep.Upkeep  // nil: this run does not look after the queue
	path       string          // of the database
	file       os.FileInfo     // of the database
	touched    chan struct{}   // capacity 1: the status is to be written
	said       map[string]bool // warnings of the configuration, each said once
	signalled  atomic.Bool     // told to stop: it did not end by itself
	lost       error           // the lock was, while it ran; to be read after run's group has ended
}

func newService(a *app, f runFlags, cfg *config.Config, logger hclog.Logger, state *stateDir, q *sqlite.Queue) (*service, error) {
	binary, err := executable()
	if err != nil {
		return nil, err
	}
	s := &service{
		app: a, flags: f, first: cfg, logger: logger, state: state,
		watcher: config.NewWatcher(logger.Named("config")),
		path:    q.Path(),
		touched: make(chan struct{}, 1),
		said:    map[string]bool{},
	}
	s.current.Store(cfg)
	if s.file, err = os.Stat(s.path); err != nil {
		return nil, fmt.Errorf("look at the database: %w", err)
	}
	if !f.once && !f.untilIdle {
		s.upkeep = upkeep.New(upkeep.Options{
			Queue: q, Clock: clock.System(), Logger: logger.Named("upkeep"),
			Database: s.path, UID: q.UID(), Settings: upkeepSettings(cfg), OnStatus: s.touch,
		})
	}
	s.supervisor = supervisor.New(supervisor.Options{
		Queue:     q,
		Clock:     clock.System(),
		Logger:    logger,
		Config:    cfg,
		Load:      s.load,
		Database:  q.Path(),
		Binary:    binary,
		UntilIdle: f.untilIdle,
		OnStatus:  func(supervisor.Status) { s.touch() },
	})
	logger.Info("service started", "config", cfg.Path, "database", q.Path(), "handlers", len(cfg.Handlers), "version", buildVersion())
	s.warn(cfg)
	return s, nil
}

// run runs the actors until the supervisor has ended. They end in the order of
// Add; each only signals, and the supervisor bounds its own stop.
func (s *service) run(ctx context.Context) error {
	var g group.Group
	var once supervisor.OneResult

	g.Add(func() (err error) {
		if s.flags.once {
			once, err = s.supervisor.RunOne(ctx)
			return err
		}
		return s.supervisor.Run(ctx)
	}, func(error) { s.supervisor.Drain() })

	signalled, endSignals := context.WithCancel(ctx)
	g.Add(func() error { s.obey(signalled); return nil }, func(error) { endSignals() })

	watching, endWatching := context.WithCancel(ctx)
	g.Add(func() error { s.watch(watching); return nil }, func(error) { endWatching() })

	if s.upkeep != nil {
		tending, endTending := context.WithCancel(ctx)
		g.Add(func() error { s.upkeep.Run(tending); <-tending.Done(); return nil }, func(error) { endTending() })
	}

	writing, endWriting := context.WithCancel(ctx)
	g.Add(func() error { s.writeStatuses(writing); return nil }, func(error) { endWriting() })

	err := s.tellLost(errors.Join(g.Run(), s.lost))
	if err != nil && !errors.Is(err, supervisor.ErrNoRoom) { // that has been logged
		s.logger.Warn("service ended", "error", err)
	} else {
		s.logger.Info("service ended: everything is recorded")
	}
	if !s.flags.once || once.Outcome == "" {
		return err
	}
	return s.tellOnce(once, err)
}

// onceJSON answers run --once. ID is null where no job was claimed.
type onceJSON struct {
	Outcome                 supervisor.OneOutcome `json:"outcome"`
	ID                      *int64                `json:"id"`
	Kind                    string                `json:"kind,omitzero"`
	Key                     string                `json:"key,omitzero"`
	Reason                  string                `json:"reason,omitzero"`
	ExternalEffectsPossible bool                  `json:"external_effects_possible,omitzero"`
}

// tellOnce prints how a run of one job ended, err or not.
func (s *service) tellOnce(one supervisor.OneResult, err error) error {
	if one.Reason == "" && err != nil {
		one.Reason = err.Error()
	}
	answer := onceJSON{
		Outcome: one.Outcome, Kind: one.Kind, Key: one.Key, Reason: one.Reason,
		ExternalEffectsPossible: one.ExternalEffectsPossible,
	}
	if one.ID != 0 {
		answer.ID = &one.ID
	}
	if printing := s.app.printJSON(answer); err != nil || printing != nil {
		return errors.Join(err, printing)
	}
	if one.Outcome != supervisor.OneCompleted && one.Outcome != supervisor.OneIdle {
		return &endedError{exitFailed}
	}
	return nil
}

// obey turns signals into what they mean until ctx ends.
func (s *service) obey(ctx context.Context) {
	draining := false
	for {
		select {
		case <-ctx.Done():
			return
		case sig := <-s.app.signals.caught:
			switch {
			case sig == syscall.SIGHUP:
				s.supervisor.Reload()
				s.logger.Info("reload asked for", "signal", sig.String())
			case !draining:
				draining = true
				s.signalled.Store(true)
				s.supervisor.Drain()
				s.logger.Info("draining: running jobs may end; a second signal kills them", "signal", sig.String())
			default:
				s.supervisor.Abort()
				s.logger.Warn("stopping at once: running jobs are killed and recorded", "signal", sig.String())
			}
		}
	}
}

// watch reloads when the configuration changes. Without watching the service
// goes on: SIGHUP still reloads.
func (s *service) watch(ctx context.Context) {
	if !s.flags.once {
		err := s.watcher.Run(ctx, s.first, s.supervisor.Reload)
		if err != nil && ctx.Err() == nil {
			s.logger.Warn("the configuration is not watched any more: SIGHUP reloads it", "error", err)
		}
	}
	<-ctx.Done()
}

// load reads the configuration again, for a reload.
func (s *service) load() (*config.Config, error) {
	cfg, err := config.Load(s.first.Path)
	if err != nil {
		s.watcher.FollowFailed(err)
		return nil, err
	}
	s.watcher.Follow(cfg)
	s.current.Store(cfg)
	if s.upkeep != nil {
		s.upkeep.Apply(upkeepSettings(cfg))
	}
	s.logger.SetLevel(hclog.LevelFromString(cfg.Log.Level))
	s.warn(cfg)
	return cfg, nil
}

// warn says once what is worth knowing about a configuration: its warnings, and
// what of it needs a restart.
func (s *service) warn(cfg *config.Config) {
	once := func(text string) {
		if !s.said[text] {
			s.said[text] = true
			s.logger.Warn("configuration", "warning", text)
		}
	}
	for _, w := range cfg.Warnings {
		once(w.String())
	}
	for _, setting := range []struct {
		name     string
		was, now string
	}{
		{"database", s.first.Database, cfg.Database},
		{"state_dir", s.first.StateDir, cfg.StateDir},
		{"log.format", s.first.Log.Format, cfg.Log.Format},
		{"network_fs", strconv.FormatBool(s.first.NetworkFS), strconv.FormatBool(cfg.NetworkFS)},
	} {
		if setting.was != setting.now {
			once(setting.name + " is now " + setting.now + ": that needs a restart; until then it stays " + setting.was)
		}
	}
}

// config is the configuration in use.
func (s *service) config() *config.Config { return s.current.Load() }

// touch has the status written soon. It never waits.
func (s *service) touch() {
	select {
	case s.touched <- struct{}{}:
	default:
	}
}

// status is what status.json is to hold.
func (s *service) status() serviceStatus {
	status := serviceStatus{Status: s.supervisor.Status()}
	if s.upkeep != nil {
		st := s.upkeep.Status()
		status.Upkeep = &st
	}
	return status
}

const (
	lockLook   = 2 * time.Second  // how often the lock is looked at while there is no status to write
	statusRest = 10 * time.Second // how old a status may become: by its age others tell whether it counts
)

// writeStatuses writes the latest status until ctx ends. One that cannot be written
// is warned about once, and tried again with each look. Without its lock the service
// is not alone any more: it drains.
func (s *service) writeStatuses(ctx context.Context) {
	tick := time.NewTicker(lockLook)
	defer tick.Stop()
	failed := false
	var tried time.Time
	write := func() error {
		tried = time.Now()
		return s.state.writeStatus(s.status())
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-s.touched:
			err = write()
		case <-tick.C:
			if err = s.state.held(); err == nil && (failed || time.Since(tried) >= statusRest) {
				err = write()
			}
		}
		switch {
		case errors.Is(err, errLockGone):
			s.lost = err
			s.logger.Error("draining: another service could start here; start this one again", "error", err)
			s.supervisor.Drain()
			<-ctx.Done()
			return
		case err != nil && !failed:
			s.logger.Warn("status file not written", "error", err)
		}
		failed = err != nil
	}
}
