package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// running is a service in the background.
type running struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

type servicesKey struct{}

func services(ts *testscript.TestScript) map[string]*running {
	return ts.Value(servicesKey{}).(map[string]*running)
}

// cmdService starts a service and waits until it says that it runs.
func cmdService(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: service NAME [ARGS…]")
	}
	name := args[0]
	cmd := exec.Command("bailiff", append([]string{"run"}, args[1:]...)...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	out, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	defer out.Close()
	log, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = out, log
	ts.Check(cmd.Start())
	r := &running{cmd: cmd, ended: make(chan struct{})}
	services(ts)[name] = r
	go func() {
		defer close(r.ended)
		_ = cmd.Wait()
	}()
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Process.Signal(syscall.SIGINT) // another one: two of a kind that come together are one
		select {
		case <-r.ended:
		case <-time.After(20 * time.Second): // a broken one must not hang the tests
			_ = cmd.Process.Kill()
			<-r.ended
		}
	})
	await(ts, "service "+name, func() bool {
		select {
		case <-r.ended:
			ts.Fatalf("service %s ended at once:\n%s", name, ts.ReadFile(name+".err"))
		default:
		}
		text, err := os.ReadFile(ts.MkAbs("state/status.json"))
		if err != nil {
			return false
		}
		pid, err := lookUp(bytes.TrimSpace(text), []string{"pid"})
		return err == nil && pid.String() == strconv.Itoa(cmd.Process.Pid)
	}, func() string { return ts.ReadFile(name + ".err") })
}

var signalNames = map[string]syscall.Signal{
	"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
	"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "KILL": syscall.SIGKILL,
}

// cmdSignal signals a service.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || services(ts)[args[0]] == nil || signalNames[args[1]] == 0 {
		ts.Fatalf("usage: signal NAME INT|TERM|HUP|STOP|CONT|KILL")
	}
	ts.Check(services(ts)[args[0]].cmd.Process.Signal(signalNames[args[1]]))
}

// cmdEnded waits for the end of a service.
func cmdEnded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || services(ts)[args[0]] == nil {
		ts.Fatalf("usage: ended NAME STATUS")
	}
	r := services(ts)[args[0]]
	await(ts, "the end of service "+args[0], func() bool {
		select {
		case <-r.ended:
			return true
		default:
			return false
		}
	}, func() string { return ts.ReadFile(args[0] + ".err") })
	if got := strconv.Itoa(r.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("service %s ended with %s, want %s:\n%s", args[0], r.cmd.ProcessState, args[1], ts.ReadFile(args[0]+".err"))
	}
}
