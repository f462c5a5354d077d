// The tests of the command line drive the real program in a process of its own,
// as a user does: testdata/script holds one txtar file per subject, in the
// language of rogpeppe/go-internal/testscript (go doc describes it). To add a
// case, add a file; nothing has to be registered.
//
// A script starts in its own folder, $WORK, which is its HOME, without BAILIFF_*
// variables, and can use what testscript has, and:
//
//	status N CMD…              run CMD and require exit status N
//	json FIELD VALUE           the last stdout is a line of JSON whose FIELD (a dotted
//	                           path; numbers index arrays) is VALUE, JSON or plain
//	                           text, or matches ~PATTERN
//	waitjob ID STATE           wait until the job (id or kind/key) is in STATE
//	waitstatus FIELD VALUE     wait until FIELD of "bailiff status --json" is VALUE
//	waitfile FILE              wait until FILE exists
//	waitgrep PATTERN FILE      wait until FILE has a line that matches PATTERN
//	service NAME [ARGS…]       start "bailiff run ARGS" in the background, its output in
//	                           NAME.out and NAME.err, and wait until its status is written
//	signal NAME SIGNAL         send INT, TERM, HUP, STOP, CONT or KILL to a service
//	ended NAME STATUS          wait for the end of a service and require its exit status
//	dead-pid FILE              the process whose pid stands in FILE is gone
//	nothing-left               no process works in $WORK or below but the services
//	within SECONDS COMMAND…    run one of these commands and require that it took no longer
//	handlers FILE…             put files into handlers/, executable but for *.hcl
//	claim VAR NAME [ARGS…]     "bailiff worker claim NAME ARGS --json", its token kept as $VAR
//	save NAME                  keep the last stdout, its white space trimmed, as $NAME
//
// $CHECKOUT is the folder of the repository. The condition [namespaces] says whether
// unshare(1) can make PID namespaces here.
//
// A wait ends when the event is there; the test's own time limit bounds it.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if program := filepath.Base(os.Args[0]); program != "bailiff" && program != "probe" {
		// Under nohup SIGHUP is ignored, and would be by all that the tests start; a
		// signal that is caught here is at its default there (execve(2)).
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Main(m, map[string]func(){"bailiff": main, "probe": probe})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	checkout, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("CHECKOUT", checkout)
			env.Setenv("TZ", "Europe/Berlin")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each command lingers for a second under -race
			env.Values[servicesKey{}] = map[string]*running{}
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "namespaces" {
				return hasNamespaces(), nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":       cmdStatus,
			"json":         cmdJSON,
			"waitjob":      cmdWaitJob,
			"waitstatus":   cmdWaitStatus,
			"waitfile":     cmdWaitFile,
			"waitgrep":     cmdWaitGrep,
			"service":      cmdService,
			"signal":       cmdSignal,
			"ended":        cmdEnded,
			"dead-pid":     cmdDeadPID,
			"nothing-left": cmdNothingLeft,
			"within":       cmdWithin,
			"save":         cmdSave,
			"handlers":     cmdHandlers,
			"claim":        cmdClaim,
		},
	})
}

// cmdStatus runs a command and requires its exit status.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N CMD…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cmdJSON compares one field of the last line on stdout.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] json FIELD VALUE")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	got, err := lookUp(jsontext.Value(lines[len(lines)-1]), strings.Split(args[0], "."))
	ts.Check(err)
	if isValue(got, args[1]) == neg {
		ts.Fatalf("%s is %s; want (negated: %v) %s", args[0], got, neg, args[1])
	}
}

// isValue reports whether a value is want: as JSON, or as the text of a string;
// or whether it matches the pattern that follows a tilde.
func isValue(got jsontext.Value, want string) bool {
	if pattern, ok := strings.CutPrefix(want, "~"); ok {
		return regexp.MustCompile(pattern).MatchString(got.String())
	}
	if got.String() == want {
		return true
	}
	quoted, err := jsontext.AppendQuote(nil, want)
	return err == nil && string(quoted) == got.String()
}

// lookUp follows a path through objects and arrays; the value found stays as it
// was written.
func lookUp(value jsontext.Value, path []string) (jsontext.Value, error) {
	for _, step := range path {
		switch value.Kind() {
		case jsontext.KindBeginObject:
			var object map[string]jsontext.Value
			if err := json.Unmarshal(value, &object); err != nil {
				return nil, err
			}
			member, ok := object[step]
			if !ok {
				return nil, fmt.Errorf("no field %s in %s", step, value)
			}
			value = member
		case jsontext.KindBeginArray:
			var array []jsontext.Value
			if err := json.Unmarshal(value, &array); err != nil {
				return nil, err
			}
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(array) {
				return nil, fmt.Errorf("no element %s in %s", step, value)
			}
			value = array[i]
		default:
			return nil, fmt.Errorf("%s has no fields", value)
		}
	}
	return value, nil
}

// cmdWaitJob waits for a job's state.
func cmdWaitJob(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitjob ID STATE")
	}
	awaitField(ts, "state", args[1], "get", args[0])
}

// cmdWaitStatus waits for what the service says of itself, which it writes a
// few times a second.
func cmdWaitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitstatus FIELD VALUE")
	}
	awaitField(ts, args[0], args[1], "status")
}

// awaitField waits until a field of what a command answers in JSON is want.
func awaitField(ts *testscript.TestScript, field, want string, command ...string) {
	var last string
	await(ts, fmt.Sprintf("%s of %v to be %s", field, command, want), func() bool {
		cmd := exec.Command("bailiff", append(command, "--json")...)
		cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
		out, err := cmd.Output()
		if last = string(out); err != nil {
			return false
		}
		got, err := lookUp(bytes.TrimSpace(out), strings.Split(field, "."))
		return err == nil && isValue(got, want)
	}, func() string { return last })
}

// cmdWaitFile waits for a file.
func cmdWaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfile FILE")
	}
	await(ts, args[0], func() bool {
		_, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil
	}, func() string { return "not there" })
}

// cmdWaitGrep waits for a line in a file.
func cmdWaitGrep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitgrep PATTERN FILE")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	var text []byte
	await(ts, "a line "+args[0]+" in "+args[1], func() bool {
		text, _ = os.ReadFile(ts.MkAbs(args[1]))
		return pattern.Match(text)
	}, func() string { return string(text) })
}

// await looks again and again until an event outside this process is there. The
// bound only ends a test that would never end.
func await(ts *testscript.TestScript, what string, there func() bool, otherwise func() string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !there(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("waited in vain for %s:\n%s", what, otherwise())
		}
	}
}

// environ is the script's environment for programs that a command starts.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TZ", "TMPDIR", "WORK", "GORACE", "BAILIFF_DB", "BAILIFF_CONFIG", "SECRET"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// cmdDeadPID requires that a process is gone, or waits to be reaped.
func cmdDeadPID(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dead-pid FILE")
	}
	pid := strings.TrimSpace(ts.ReadFile(args[0]))
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return
	}
	// The state follows the name in brackets, which may hold anything: proc(5).
	if state := stat[bytes.LastIndexByte(stat, ')')+2]; state != 'Z' && state != 'X' {
		ts.Fatalf("process %s still lives: %s", pid, stat)
	}
}

// cmdSave keeps the last stdout in a variable.
func cmdSave(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: save NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}
