package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

// app is what every command shares: its streams, the global flags, and which
// configuration and database were found for it.
type app struct {
	signals *signals
	in      input
	out     io.Writer
	errOut  io.Writer

	log *patientWriter // errOut, while a service runs and after it; else nil

	configFlag string
	dbFlag     string
	json       bool
	networkFS  bool
	verbose    bool
	words      []string // the command line as it was typed

	// Filled in as they are found; a failure names them.
	configPath string
	config     *config.Config
	dbPath     string
	dbFrom     string // who named it, in words
	ownFiles   bool   // the command names its databases itself: that one has no part in it
}

// findConfig answers which configuration to use.
func (a *app) findConfig() (string, error) {
	if a.configPath != "" {
		return a.configPath, nil
	}
	path, err := config.Find(a.configFlag)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = advise(usage("%s", sentences(err)[0]), "%s makes one; --db names a database without a configuration", a.command("init"))
		}
		return "", err
	}
	if a.configPath, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("find configuration: %w", err)
	}
	return a.configPath, nil
}

// loadConfig finds and loads the configuration, once.
func (a *app) loadConfig() (*config.Config, error) {
	if a.config != nil {
		return a.config, nil
	}
	path, err := a.findConfig()
	if err != nil {
		return nil, err
	}
	a.config, err = config.Load(path)
	return a.config, err
}

// mayConfig is the configuration where there is a good one, else nil: for
// hints that nothing depends on.
func (a *app) mayConfig() *config.Config {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil
	}
	return cfg
}

// locate answers which database to use: --db, BAILIFF_DB, or the
// configuration's. While that has errors, what a service still runs with
// stands, and without one what the file itself leaves no doubt about: the queue
// must be in reach just then. Who needs a good configuration loads it before.
func (a *app) locate() (string, error) {
	named, from := a.dbFlag, "--db"
	if named == "" {
		named, from = os.Getenv("BAILIFF_DB"), "$BAILIFF_DB"
	}
	if named == "" {
		var err error
		if named, from, err = a.configured(); err != nil {
			return "", err
		}
	}
	path, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("find database: %w", err)
	}
	a.dbPath, a.dbFrom = path, from
	return path, nil
}

// configured answers the database of the configuration and who named it, and
// notes what stands in for a configuration that has errors.
func (a *app) configured() (database, from string, err error) {
	cfg, err := a.loadConfig()
	var broken *config.Error
	switch {
	case err == nil:
		return cfg.Database, "the configuration", nil
	case !errors.As(err, &broken):
		return "", "", err
	}
	note := fmt.Sprintf("note: the configuration has errors (%s shows them); ", a.command("check"))
	if s, _ := a.service(); s != nil && s.Database != "" {
		a.note("%sthe service that runs (pid %d) goes on without the change", note, s.PID)
		return s.Database, "the running service", nil
	}
	if broken.Database == "" {
		return "", "", err
	}
	a.note("%s%s refuses it, but which database it means is clear", note, a.command("run"))
	return broken.Database, "the configuration", nil
}

// open opens the database that locate answers.
func (a *app) open(ctx context.Context, opt sqlite.Options) (*sqlite.Queue, error) {
	path, err := a.locate()
	if err != nil {
		return nil, err
	}
	q, err := sqlite.Open(ctx, path, a.placed(opt))
	switch {
	case errors.Is(err, queue.ErrNotFound):
		return nil, a.adviseMissing(err)
	case errors.Is(err, fs.ErrPermission):
		if owner := ownedBy(path); owner != "" {
			err = advise(err, "%s", escape(owner))
		}
	}
	return q, err
}

// adviseMissing says what to do about a database that is not there. What lies
// beside it tells that there was one.
func (a *app) adviseMissing(err error) error {
	err = advise(err, "if it was moved, move it back, with its -wal and -shm, or name it with --db")
	for _, suffix := range []string{"-wal", "-shm", "-reserve"} {
		if _, missing := os.Lstat(a.dbPath + suffix); missing == nil {
			return advise(err, "there was one: %s is still there; no empty one is made in its place", escape(a.dbPath+suffix))
		}
	}
	return advise(err, "if there never was one: %s makes it, and so does %s", a.command("init"), a.command("run --init"))
}

// placed adds to opt whether the database that was located may lie on a network file
// system: a flag insists, or the configuration about its own database.
func (a *app) placed(opt sqlite.Options) sqlite.Options {
	cfg := a.mayConfig()
	opt.NetworkFS = a.networkFS || cfg != nil && cfg.NetworkFS && a.dbPath == cfg.Database
	return opt
}

// commandPatience is how long a command waits for a busy database: longer than
// the service, which has leases to look after and will be asked again.
const commandPatience = 30 * time.Second

// forCommand is how a command opens the database: its writes take turns with those
// of other commands.
func (a *app) forCommand() sqlite.Options {
	return sqlite.Options{Logger: a.quietLogger(), LockWait: commandPatience, TakeTurns: true}
}

// withQueue opens the database for one command and closes it afterwards.
func (a *app) withQueue(ctx context.Context, do func(q *sqlite.Queue) error) error {
	q, err := a.open(ctx, a.forCommand())
	if err != nil {
		return err
	}
	err = do(q)
	if closing := q.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close database: %w", closing)
	}
	return err
}

// quietLogger is the log of commands other than run: warnings only.
func (a *app) quietLogger() hclog.Logger {
	level := hclog.Warn
	if a.verbose {
		level = hclog.Debug
	}
	return hclog.New(&hclog.LoggerOptions{Name: "bailiff", Level: level, Output: a.errOut})
}

// lookAround finds, for a command that failed before, which configuration and
// database it would have used.
func (a *app) lookAround() {
	cfg := a.mayConfig()
	if !a.ownFiles && a.dbPath == "" && (a.dbFlag != "" || os.Getenv("BAILIFF_DB") != "" || cfg != nil) {
		_, _ = a.locate()
	}
}

// which says the configuration and database in use, as far as they are known.
func (a *app) which() []string {
	var lines []string
	if a.configPath != "" {
		lines = append(lines, "configuration: "+escape(a.configPath))
	}
	if a.dbPath != "" {
		lines = append(lines, fmt.Sprintf("database: %s (from %s)", escape(a.dbPath), a.dbFrom))
	}
	return lines
}

// now is the wall clock, for what people are told.
func now() time.Time { return time.Now() }
