package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// site is a folder with a configuration and a database of its own. Tests in Go
// drive the program from it where a script is too weak: tables, parallel
// callers, a terminal. Like a script it runs the real program in processes of
// its own (script_test.go).
type site struct {
	t   *testing.T
	dir string
}

// newSite makes a site with this configuration; an empty one is init's own.
func newSite(t *testing.T, config string) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t, dir}
	s.run(0, "init")
	if config != "" {
		s.write("config.hcl", config, 0o644)
	}
	return s
}

// write puts a file into the site.
func (s *site) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// path is a file of the site.
func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// command is the program with these arguments, to be started in the site.
func (s *site) command(args ...string) *exec.Cmd {
	cmd := exec.Command("bailiff", args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TZ=Europe/Berlin", "GORACE=atexit_sleep_ms=0"}
	return cmd
}

// run runs the program, requires its exit status and answers with its stdout.
func (s *site) run(status int, args ...string) string {
	s.t.Helper()
	cmd := s.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("bailiff %v: %v", args, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		s.t.Fatalf("bailiff %v: exit status %d, want %d\n%s%s", args, got, status, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// json runs the program with arguments that make it answer in JSON, requires
// exit status 0 and reads the answer.
func (s *site) json(into any, args ...string) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.run(0, args...)), into); err != nil {
		s.t.Fatalf("bailiff %v: %v", args, err)
	}
}

// historyEntry is what a test looks at of an entry of a job's history.
type historyEntry struct {
	Event   string `json:"event"`
	From    string `json:"from"`
	To      string `json:"to"`
	Attempt int    `json:"attempt"`
	Fence   int64  `json:"fence"`
	Detail  string `json:"detail"`
	Count   int64  `json:"count"`
}

// history is a job's history, oldest first.
func (s *site) history(ref string) []historyEntry {
	s.t.Helper()
	var entries []historyEntry
	for line := range strings.Lines(s.run(0, "history", "--json", ref)) {
		var e historyEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatalf("history of %s: %v", ref, err)
		}
		entries = append(entries, e)
	}
	return entries
}

// exists reports whether a file of the site is there.
func (s *site) exists(name string) bool {
	_, err := os.Stat(s.path(name))
	return err == nil
}

// await looks again and again until an event outside this process is there. The
// bound only ends a test that would never end.
func (s *site) await(what string, there func() bool, otherwise func() string) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !there(); <-tick.C {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain for %s:\n%s", what, otherwise())
		}
	}
}
