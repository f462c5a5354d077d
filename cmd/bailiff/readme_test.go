package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's sessions are what really happens: each block marked console is
// typed into a shell, and what it prints is compared with what the README shows.
func TestReadmeSessions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Fatalf("the README has %d sessions, 2 are known here", len(blocks))
	}
	t.Run("first screen", func(t *testing.T) {
		t.Parallel()
		session(t, t.TempDir(), blocks[0][1])
	})
	t.Run("checkout", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		checkout := exec.Command("cp", "-r", "config.hcl", "handlers", dir)
		checkout.Dir = "../.."
		if out, err := checkout.CombinedOutput(); err != nil {
			t.Fatalf("copy the checkout: %v: %s", err, out)
		}
		session(t, dir, blocks[1][1])
	})
}

// session types the commands of a block into one shell and compares its output.
func session(t *testing.T, dir, block string) {
	const mark = "\x01"
	var script, want strings.Builder
	for line := range strings.Lines(block) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			fmt.Fprintf(&script, "printf '%s'\n%s", mark, command)
			want.WriteString(mark)
		} else if more, ok := strings.CutPrefix(line, "> "); ok {
			script.WriteString(more)
		} else {
			want.WriteString(line)
		}
	}
	script.WriteString("[ -z \"$(jobs -p)\" ] || kill $(jobs -p); wait\n")
	shell := exec.Command("bash", "-c", script.String())
	shell.Dir = dir
	shell.Env = append(os.Environ(), "HOME="+dir, "GORACE=atexit_sleep_ms=0", "BAILIFF_CONFIG=", "BAILIFF_DB=")
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("the session ended with %v:\n%s", err, out)
	}
	if got, want := steady(dir, string(out)), steady(dir, want.String()); got != want {
		log, _ := os.ReadFile(filepath.Join(dir, "bailiff.log"))
		t.Errorf("the README shows\n%s\nthe program printed\n%s\nits log:\n%s", want, got, log)
	}
}

// steady makes what differs from run to run the same: durations and folders.
func steady(dir, s string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		s = strings.ReplaceAll(s, real+"/", "")
	}
	s = strings.ReplaceAll(s, dir+"/", "")
	s = regexp.MustCompile(`\d+(\.\d+)? m?s\b( ago)?|just now`).ReplaceAllString(s, "TIME")
	s = regexp.MustCompile(`(?m)^  (configuration|database): .*\n`).ReplaceAllString(s, "")
	return s
}
