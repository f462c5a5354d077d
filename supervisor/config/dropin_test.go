package config_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/b1213022/bailiff/supervisor/config"
)

const script = "#!/bin/sh\n"

// folder makes a configuration with this text and an empty handlers folder.
func folder(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "config.hcl"), text, 0o644)
	makeDir(t, filepath.Join(dir, "handlers"))
	return dir
}

func kinds(c *config.Config) string {
	return strings.Join(slices.Sorted(maps.Keys(c.Handlers)), " ")
}

func warnings(dir string, c *config.Config) string {
	var lines []string
	for _, w := range c.Warnings {
		lines = append(lines, strings.ReplaceAll(w.String(), dir+"/", ""))
	}
	return strings.Join(lines, "\n")
}

// loadError is all that is wrong, paths relative to dir.
func loadError(t *testing.T, dir string) string {
	t.Helper()
	_, err := config.Load(filepath.Join(dir, "config.hcl"))
	var failed *config.Error
	if !errors.As(err, &failed) {
		t.Fatalf("got error %v, want a *config.Error", err)
	}
	return strings.ReplaceAll(err.Error(), dir+"/", "")
}

func TestDropInIsAHandlerWithTheDefaults(t *testing.T) {
	t.Parallel()
	dir := folder(t, "defaults {\n  timeout = \"7m\"\n}\n")
	path := filepath.Join(dir, "handlers", "send.mail.sh")
	write(t, path, script, 0o755)
	c := load(t, filepath.Join(dir, "config.hcl"))
	h := c.Handlers["send.mail"]
	if h == nil {
		t.Fatalf("got kinds %q, want send.mail", kinds(c))
	}
	if h.File != path || !slices.Equal(h.Command, []string{path}) || h.Dir != dir || h.Source != path {
		t.Errorf("got %+v", h)
	}
	if h.Protocol != config.Plain || h.Timeout.String() != "7m0s" || h.Retry.MaxAttempts != config.DefaultMaxAttempts {
		t.Errorf("got protocol %s, timeout %s, max_attempts %d", h.Protocol, h.Timeout, h.Retry.MaxAttempts)
	}
	if len(c.Warnings) > 0 {
		t.Errorf("got warnings %v, want none", c.Warnings)
	}
}

func TestSidecarHoldsTheBodyOfTheBlock(t *testing.T) {
	t.Parallel()
	dir := folder(t, "defaults {\n  concurrency = 3\n}\n")
	write(t, filepath.Join(dir, "handlers", "sum.py"), "#!/usr/bin/python3\n", 0o755)
	write(t, filepath.Join(dir, "handlers", "sum.hcl"), "protocol = \"lines\"\ndir = \"work\"\nretry {\n  max_attempts = 2\n}\n", 0o644)
	c := load(t, filepath.Join(dir, "config.hcl"))
	h := c.Handlers["sum"]
	if h.Protocol != config.Lines || h.Concurrency != 3 || h.Retry.MaxAttempts != 2 {
		t.Errorf("got protocol %s, concurrency %d, max_attempts %d", h.Protocol, h.Concurrency, h.Retry.MaxAttempts)
	}
	if want := filepath.Join(dir, "handlers", "work"); h.Dir != want {
		t.Errorf("got dir %s, want it to start at the sidecar: %s", h.Dir, want)
	}
}

func TestMistakesInSidecarsNameTheSidecar(t *testing.T) {
	t.Parallel()
	dir := folder(t, "# nothing\n")
	write(t, filepath.Join(dir, "handlers", "sum.py"), script, 0o755)
	write(t, filepath.Join(dir, "handlers", "sum.hcl"), "command = [\"x\"]\nwarm = 1\ntimout = \"1s\"\nhandler \"sum\" {\n}\n", 0o644)
	want := `handlers/sum.hcl:1: command cannot be set for a drop-in: its command is the file itself; for another one write a block into the config file
handlers/sum.hcl:2: handler "sum": warm is for protocol = "lines" alone: a plain handler is a new process for each job; take it out or set the protocol
handlers/sum.hcl:3: unknown setting "timout" in handler "sum": did you mean "timeout"?
handlers/sum.hcl:4: handler is the block around these settings: a file beside a drop-in holds them without it`
	if got := loadError(t, dir); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestWhatIsNoHandler(t *testing.T) {
	t.Parallel()
	dir := folder(t, "# nothing\n")
	in := func(name string) string { return filepath.Join(dir, "handlers", name) }
	write(t, in("h"), script, 0o755)
	for _, name := range []string{"h~", ".h.swp", "h.bak", "h.dpkg-dist", "#h#", "h.sh.orig", ".#h"} {
		write(t, in(name), script, 0o755)
	}
	write(t, in("mail.sh"), script, 0o644)
	write(t, in("tool"), script, 0o644)
	write(t, in("README.md"), "# Handlers\n", 0o644)
	write(t, in("library.py"), "def f(): pass\n", 0o644)
	write(t, in(".gitkeep"), "", 0o755)
	write(t, in("gone.hcl"), "timeout = \"1s\"\n", 0o644)
	makeDir(t, in("wordcount"))
	if err := os.Symlink("nowhere", in("dangling")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("wordcount", in("folderlink")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(in("fifo"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := load(t, filepath.Join(dir, "config.hcl"))
	if got := kinds(c); got != "h" {
		t.Errorf("got kinds %q, want h alone", got)
	}
	want := `handlers: #h#, .#h, .h.swp, h.bak, h.dpkg-dist, h.sh.orig, h~: no handlers, what an editor or a package left behind
handlers/dangling: not a handler: the link to nowhere leads nowhere
handlers/fifo: not a handler: it is no regular file but a pipe
handlers/gone.hcl: these settings have no handler: no executable file for kind "gone" is beside them
handlers/mail.sh: not a handler: no execute bit: chmod +x handlers/mail.sh
handlers/tool: not a handler: no execute bit: chmod +x handlers/tool`
	if got := warnings(dir, c); got != want {
		t.Errorf("got warnings:\n%s\nwant:\n%s", got, want)
	}
}

// A handler whose settings cannot be read must not run by the defaults.
func TestSettingsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for want, place := range map[string]func(path string) error{
		"handlers/h.hcl: cannot be read: it is no regular file":     func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"handlers/h.hcl: cannot be read: no such file or directory": func(path string) error { return os.Symlink("nowhere.hcl", path) },
	} {
		dir := folder(t, "# nothing\n")
		write(t, filepath.Join(dir, "handlers", "h.sh"), script, 0o755)
		if err := place(filepath.Join(dir, "handlers", "h.hcl")); err != nil {
			t.Fatal(err)
		}
		if got := loadError(t, dir); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestOneKindTwice(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		files []string
		want  string
	}{
		"two files": {"# nothing\n", []string{"h.sh", "h.py"},
			`handlers/h.sh: kind "h" has two handlers: the other is handlers/h.py; rename or remove one`},
		"block and file": {"handler \"h\" {\n  command = [\"x\"]\n}\n", []string{"h.sh"},
			`handlers/h.sh: kind "h" has two handlers: the other is the block at config.hcl:1; rename or remove one`},
		"block and two files": {"handler \"h\" {\n  command = [\"x\"]\n}\n", []string{"h.sh", "h.py"},
			`handlers/h.sh: kind "h" has 3 handlers: the others are the block at config.hcl:1, handlers/h.py; keep one of them`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, test.text)
			for _, file := range test.files {
				write(t, filepath.Join(dir, "handlers", file), script, 0o755)
			}
			if got := loadError(t, dir); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestFilesThatOthersCanWriteAreRefused(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[fs.FileMode]bool{0o755: false, 0o700: false, 0o757: true, 0o777: true} {
		dir := folder(t, "# nothing\n")
		write(t, filepath.Join(dir, "handlers", "h"), script, mode)
		_, err := config.Load(filepath.Join(dir, "config.hcl"))
		if refused != (err != nil) {
			t.Errorf("mode %o: got error %v", mode, err)
		}
		if refused && !strings.Contains(err.Error(), "chmod go-w "+filepath.Join(dir, "handlers", "h")) {
			t.Errorf("mode %o: the fix is not in %v", mode, err)
		}
	}
}

func TestGroupThatCanWrite(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("giving a file to another user needs root")
	}
	for name, test := range map[string]struct {
		uid, gid int
		refused  bool
	}{
		"root's group":              {0, 0, true},
		"another group":             {1234, 100, true},
		"the owner's private group": {1234, 1234, false},
	} {
		dir := folder(t, "# nothing\n")
		path := filepath.Join(dir, "handlers", "h")
		write(t, path, script, 0o775)
		if err := os.Chown(path, test.uid, test.gid); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(filepath.Join(dir, "config.hcl")); test.refused != (err != nil) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}

func TestFileNameThatIsNoKind(t *testing.T) {
	t.Parallel()
	dir := folder(t, "# nothing\n")
	write(t, filepath.Join(dir, "handlers", "Send Mail.sh"), script, 0o755)
	want := `handlers/Send Mail.sh: "Send Mail" is no kind, so this cannot be a handler: rename it, or chmod -x: ` +
		`a kind has 1 to 64 of a-z 0-9 . _ - and begins with a letter or digit; "send-mail" would do`
	if got := loadError(t, dir); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMissingHandlersFolderIsNoError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.hcl"), "# nothing\n", 0o644)
	c := load(t, filepath.Join(dir, "config.hcl"))
	if len(c.Handlers) != 0 {
		t.Errorf("got kinds %q", kinds(c))
	}
	want := "handlers: this folder does not exist, so there are no drop-in handlers: mkdir handlers"
	if got := warnings(dir, c); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestScriptOfABlockNeedsNoExecuteBit(t *testing.T) {
	t.Parallel()
	dir := folder(t, "handler \"resize\" {\n  command = [\"python3\", \"handlers/resize.py\"]\n}\n")
	path := filepath.Join(dir, "handlers", "resize.py")
	write(t, path, "#!/usr/bin/python3\n", 0o644)
	c := load(t, filepath.Join(dir, "config.hcl"))
	if got := warnings(dir, c); got != "" {
		t.Errorf("got warning %s", got)
	}
	if got := c.Handlers["resize"].File; got != path {
		t.Errorf("got handler's file %s, want %s", got, path)
	}
}

func TestHandlersDirThatIsNoFolder(t *testing.T) {
	t.Parallel()
	dir := folder(t, "handlers_dir = \"config.hcl\"\n")
	if got, want := loadError(t, dir), "config.hcl: handlers_dir cannot be read: not a directory"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
