package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/handlers"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

func newInitCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "make a configuration, a first handler and the database",
		Long: `Makes a commented config.hcl (or the file that --config or $BAILIFF_CONFIG
names), handlers/hello.sh and the database, whatever of them is missing, and the
folders they need. Overwrites nothing.`,
		Example: `  bailiff init
  bailiff init --config ~/jobs/config.hcl`,
		Args: words(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.init(cmd.Context()) },
	}
}

// madeJSON is one thing that init made or found.
type madeJSON struct {
	Path string `json:"path"`
	Made bool   `json:"made"` // false: it was there and was left alone
}

func (a *app) init(ctx context.Context) error {
	path, err := a.newConfigPath()
	if err != nil {
		return err
	}
	var done []madeJSON
	step := func(path string, err error) error {
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		done = append(done, madeJSON{path, err == nil})
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the configuration's folder: %w", err)
	}
	if err := step(path, writeNew(path, []byte(config.Default(filepath.Dir(path))), 0o644)); err != nil {
		return err
	}
	a.configPath = path
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(cfg.HandlersDir, 0o755); err != nil {
		return fmt.Errorf("make handlers_dir: %w", err)
	}
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return fmt.Errorf("make state_dir: %w", err)
	}
	if cfg.Handlers["hello"] == nil {
		hello := filepath.Join(cfg.HandlersDir, "hello.sh")
		if err := step(hello, writeNew(hello, handlers.Hello, 0o755)); err != nil {
			return err
		}
	}
	database, err := a.locate()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(database); err == nil {
		done = append(done, madeJSON{database, false})
	} else {
		if err := os.MkdirAll(filepath.Dir(database), 0o700); err != nil {
			return fmt.Errorf("make the database's folder: %w", err)
		}
		if err := sqlite.Create(ctx, database, a.placed(sqlite.Options{})); err != nil {
			return err
		}
		done = append(done, madeJSON{database, true})
	}
	return a.tellMade(done)
}

// newConfigPath is where the configuration is or will be.
func (a *app) newConfigPath() (string, error) {
	named := a.configFlag
	if named == "" {
		named = os.Getenv("BAILIFF_CONFIG")
	}
	if named == "" {
		named = "config.hcl"
	}
	path, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("find configuration: %w", err)
	}
	return path, nil
}

// writeNew makes a file, whole, and touches none that exists.
func writeNew(path string, content []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

func (a *app) tellMade(done []madeJSON) error {
	for _, d := range done {
		switch {
		case a.json:
			if err := a.printJSON(d); err != nil {
				return err
			}
		case d.Made:
			a.say("made   %s", escape(nearPath(d.Path)))
		default:
			a.say("exists %s", escape(nearPath(d.Path)))
		}
	}
	if !a.json {
		a.say("")
		a.say("Now:")
		for _, next := range []string{"run &", "enqueue hello world-1 name=World --wait", "status"} {
			a.say("  %s", a.command("%s", next))
		}
	}
	return nil
}

// nearPath is path from the working folder where it lies below that.
func nearPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if near, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(near) {
		return near
	}
	return path
}
