package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdNothingLeft requires that no process works in the script's folder or below
// but the services that the script started.
func cmdNothingLeft(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: nothing-left")
	}
	var own []int
	for _, r := range services(ts) {
		own = append(own, r.cmd.Process.Pid)
	}
	if left := processesIn(ts.MkAbs("."), own...); len(left) > 0 {
		ts.Fatalf("still running:\n%s", strings.Join(left, "\n"))
	}
}

// processesIn names the processes whose working folder is dir or below, but for
// those with the pids except: what handlers left running, since a handler runs
// in the folder of its configuration.
func processesIn(dir string, except ...int) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		cwd, err := os.Readlink(link)
		if err != nil || cwd != dir && !strings.HasPrefix(cwd, dir+"/") {
			continue // it has ended, is a zombie, or works elsewhere
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil || slices.Contains(except, pid) {
			continue
		}
		argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		found = append(found, fmt.Sprintf("%d: %s", pid, bytes.ReplaceAll(argv, []byte{0}, []byte(" "))))
	}
	return found
}
