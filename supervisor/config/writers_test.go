package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/supervisor/config"
)

// TestOthersDecideNothing: whoever can write one of the four decides what runs.
func TestOthersDecideNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path string
		mode os.FileMode
		want string // begins the error; of what is fine the warning, if any
		fine bool
	}{
		"configuration":  {"config.hcl", 0o646, "config.hcl: others can write this file", false},
		"drop-in":        {"handlers/h.sh", 0o757, "handlers/h.sh: others can write this file", false},
		"sidecar":        {"handlers/h.hcl", 0o646, "handlers/h.hcl: others can write this file", false},
		"command":        {"work.sh", 0o757, "work.sh: others can write this file", false},
		"its second":     {"data.txt", 0o646, "data.txt: others can write this file", false},
		"folder":         {"handlers", 0o777, "handlers: everybody can put handlers into this folder and replace those in it: chmod o-w handlers", false},
		"sticky folder":  {"handlers", 0o777 | os.ModeSticky, "handlers: everybody can put handlers into this folder: chmod o-w handlers", true},
		"group's folder": {"handlers", 0o775, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, "handler \"work\" {\n  command = [\"./work.sh\", \"data.txt\"]\n}\n")
			write(t, filepath.Join(dir, "work.sh"), script, 0o755)
			write(t, filepath.Join(dir, "data.txt"), "1\n", 0o644)
			write(t, filepath.Join(dir, "handlers", "h.sh"), script, 0o755)
			write(t, filepath.Join(dir, "handlers", "h.hcl"), "timeout = \"1s\"\n", 0o644)
			if err := os.Chmod(filepath.Join(dir, test.path), test.mode); err != nil {
				t.Fatal(err)
			}
			if !test.fine {
				if got := loadError(t, dir); !strings.HasPrefix(got, test.want) {
					t.Errorf("got %s", got)
				}
				return
			}
			if got := warnings(dir, load(t, filepath.Join(dir, "config.hcl"))); got != test.want {
				t.Errorf("got warning %q", got)
			}
		})
	}
}

// TestErrorTellsTheStateDir: where to look for a service that still runs with
// the file as it was.
func TestErrorTellsTheStateDir(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, dir string
		guessed   bool
	}{
		"set beside a typo":       {"state_dir = \"own\"\nfoo = 1\n", "own", false},
		"not set":                 {"foo = 1\n", "state", false},
		"misspelt":                {"stat_dir = \"own\"\n", "state", true},
		"of a wrong type":         {"state_dir = 5\n", "state", true},
		"its line not understood": {"state_dir = 'own'\n", "state", true},
		"before a lost brace":     {"state_dir = \"own\"\nlease {\n", "own", false},
		"nowhere before it":       {"lease {\n", "state", true},
		"an empty file":           {"", "state", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, test.text)
			_, err := config.Load(filepath.Join(dir, "config.hcl"))
			var broken *config.Error
			if !errors.As(err, &broken) {
				t.Fatalf("got %v", err)
			}
			if want := filepath.Join(dir, test.dir); broken.StateDir != want || broken.StateDirGuessed != test.guessed {
				t.Errorf("got %s, guessed %t; want %s, %t", broken.StateDir, broken.StateDirGuessed, want, test.guessed)
			}
		})
	}
}

// TestErrorTellsTheDatabase: only where the file leaves no doubt about it.
func TestErrorTellsTheDatabase(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, database string // empty: in doubt
		mode           os.FileMode
	}{
		"set":                         {"database = \"own.db\"\n", "own.db", 0o644},
		"not set":                     {"# nothing\n", "bailiff.db", 0o644},
		"set beside a wrong word":     {"database = \"own.db\"\nfoo = 1\n", "own.db", 0o644},
		"not set beside a wrong word": {"db = \"own.db\"\n", "", 0o644},
		"set in a wrong place":        {"lease {\n  database = \"own.db\"\n}\n", "", 0o644},
		"not set beside a wrong time": {"lease {\n  duration = \"soon\"\n}\n", "bailiff.db", 0o644},
		"misspelt":                    {"databse = \"own.db\"\n", "", 0o644},
		"of a wrong type":             {"database = 5\n", "", 0o644},
		"set twice":                   {"database = \"a.db\"\ndatabase = \"b.db\"\n", "", 0o644},
		"its line not understood":     {"database: \"own.db\"\n", "", 0o644},
		"another line not understood": {"database = \"own.db\"\nfoo: 1\n", "", 0o644},
		"before a lost brace":         {"database = \"own.db\"\nlease {\n", "", 0o644},
		"an empty file":               {"", "", 0o644},
		"others can write it":         {"database = \"own.db\"\n", "", 0o646},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, test.text)
			path := filepath.Join(dir, "config.hcl")
			write(t, path, test.text, test.mode)
			write(t, filepath.Join(dir, "handlers", "Bad Name.sh"), "#!/bin/sh\n", 0o755)
			_, err := config.Load(path)
			var broken *config.Error
			if !errors.As(err, &broken) {
				t.Fatalf("got %v", err)
			}
			want := test.database
			if want != "" {
				want = filepath.Join(dir, want)
			}
			if broken.Database != want {
				t.Errorf("got %q, want %q", broken.Database, want)
			}
		})
	}
}

// TestShownCommand: an argument that is secret is told from those that are not.
func TestShownCommand(t *testing.T) {
	t.Parallel()
	dir := folder(t, "handler \"h\" {\n  command = [\"sh\", \"x\", file(\"token\"), \"-p${file(\"token\")}\"]\n}\n")
	write(t, filepath.Join(dir, "token"), "hunter2\n", 0o600)
	h := load(t, filepath.Join(dir, "config.hcl")).Handlers["h"]
	if got, want := strings.Join(h.Command, " "), "sh x hunter2 -phunter2"; got != want {
		t.Errorf("got command %q, want %q", got, want)
	}
	if got, want := strings.Join(h.ShownCommand, " "), "sh x (secret) (secret)"; got != want {
		t.Errorf("got shown %q, want %q", got, want)
	}
}

// TestMendedPermissionIsNoticed: chmod is all it takes to have the file in use.
func TestMendedPermissionIsNoticed(t *testing.T) {
	t.Parallel()
	dir := folder(t, drained(1))
	path := filepath.Join(dir, "config.hcl")
	reloads := watch(t, path)
	write(t, path, drained(2), 0o646)
	for r := await(t, reloads); r.err == nil || !strings.Contains(r.err.Error(), "others can write"); r = await(t, reloads) {
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	until(t, reloads, 2)
}
