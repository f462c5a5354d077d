package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdHandlers installs files as handlers: what they are executable for.
func cmdHandlers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: handlers FILE…")
	}
	for _, file := range args {
		mode := os.FileMode(0o755)
		if filepath.Ext(file) == ".hcl" {
			mode = 0o644
		}
		text := ts.ReadFile(file)
		path := ts.MkAbs(filepath.Join("handlers", filepath.Base(file)))
		ts.Check(os.WriteFile(path, []byte(text), mode))
	}
}

// cmdClaim claims by hand and keeps the token of the lease, which only the
// answer to the claim shows.
func cmdClaim(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: claim VAR NAME [ARGS…]")
	}
	ts.Check(ts.Exec("bailiff", append([]string{"worker", "claim", "--json"}, args[1:]...)...))
	token, err := lookUp([]byte(strings.TrimSpace(ts.ReadFile("stdout"))), []string{"token"})
	ts.Check(err)
	ts.Setenv(args[0], strings.Trim(token.String(), `"`))
}

// hasNamespaces reports whether unshare(1) may make PID namespaces here.
func hasNamespaces() bool {
	return exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "true").Run() == nil
}
