package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalHandlers are both protocols' forms of one script.
const terminalHandlers = `
handler "plain" {
  command = ["sh", "handler.sh"]
  retry {
    base_delay = "1h"
    max_delay  = "1h"
  }
}
handler "lines" {
  command  = ["sh", "handler.sh"]
  protocol = "lines"
}
`

// N06: a Ctrl-C in the service's terminal reaches the service alone: it drains,
// and its handlers, which hear nothing of it, do their jobs.
func TestCtrlCDoesNotReachHandlers(t *testing.T) {
	t.Parallel()
	s := newSite(t, terminalHandlers)
	s.write("handler.sh", `
trap 'touch interrupted' INT
[ $BAILIFF_PROTOCOL = plain ] || { echo '{"type":"ready","protocol":1}'; read -r job; id=${job#*'"id":'}; }
touch $BAILIFF_PROTOCOL.started
while [ ! -e go ]; do sleep 0.02; done
[ $BAILIFF_PROTOCOL = plain ] || echo '{"type":"done","id":'${id%%,*}'}'
`, 0o644)
	for _, kind := range []string{"plain", "lines"} {
		s.run(0, "enqueue", kind, "one")
		s.run(0, "enqueue", kind, "two")
	}
	service := s.terminal("run")
	s.await("both handlers at work", func() bool { return s.exists("plain.started") && s.exists("lines.started") }, service.shown)
	service.press("\x03")
	s.await("the service to drain", func() bool { return strings.Contains(service.shown(), "draining") }, service.shown)
	s.write("go", "", 0o644)
	if err := service.Wait(); err != nil {
		t.Errorf("the service ended with %v:\n%s", err, service.shown())
	}
	if s.exists("interrupted") {
		t.Error("a handler got SIGINT")
	}
	for job, want := range map[string]string{"plain/one": "done", "lines/one": "done", "plain/two": "ready", "lines/two": "ready"} {
		var got endedJob
		if s.json(&got, "get", "--json", job); got.State != want {
			t.Errorf("%s is %s (%s), want %s", job, got.State, got.LastError, want)
		}
	}
	if left := processesIn(s.dir); len(left) > 0 {
		t.Errorf("still running:\n%s", strings.Join(left, "\n"))
	}
}

// N07: a handler has no terminal to ask on, even where the service has one: it
// fails at once, and says so; it is never stopped by the terminal.
func TestHandlersHaveNoTerminal(t *testing.T) {
	t.Parallel()
	s := newSite(t, terminalHandlers)
	s.write("handler.sh", `
[ $BAILIFF_PROTOCOL = plain ] || { echo '{"type":"ready","protocol":1}'; read -r job; }
read -r pw < /dev/tty || exit 5
`, 0o644)
	s.run(0, "enqueue", "plain", "one")
	s.run(0, "enqueue", "lines", "one")
	service := s.terminal("run", "--until-idle")
	if err := service.Wait(); err != nil {
		t.Errorf("the service ended with %v:\n%s", err, service.shown())
	}
	for kind, want := range map[string]ending{
		"plain": {is: "retry", reason: "exit status 5; last stderr line: "},
		"lines": {is: "uncertain", reason: "exit status 5 without an outcome: it never said done, retry or dead; last stderr line: "},
	} {
		var got endedJob
		s.json(&got, "get", "--json", kind+"/one")
		if got.State != becomes[want.is] || !strings.HasPrefix(got.LastError, want.reason) || !strings.Contains(got.LastError, "/dev/tty") {
			t.Errorf("%s is %s with %q, want %s with %q and what the shell says of /dev/tty", kind, got.State, got.LastError, becomes[want.is], want.reason)
		}
	}
	if left := processesIn(s.dir); len(left) > 0 {
		t.Errorf("still running:\n%s", strings.Join(left, "\n"))
	}
}

// terminal is the program in the foreground of a terminal of its own.
type terminal struct {
	*exec.Cmd
	keyboard *os.File
	mu       sync.Mutex
	screen   bytes.Buffer
}

// terminal starts the program in a new terminal, as the leader of its session.
// See pts(4).
func (s *site) terminal(args ...string) *terminal {
	s.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		s.t.Skipf("this system gives no terminals: %v", err)
	}
	s.t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		s.t.Fatalf("unlock terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		s.t.Fatalf("name terminal: %v", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer slave.Close()
	term := &terminal{Cmd: s.command(args...), keyboard: master}
	term.Stdin, term.Stdout, term.Stderr = slave, slave, slave
	term.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = term.Process.Kill() })
	go func() { _, _ = io.Copy(term, master) }()
	return term
}

// press types on the terminal's keyboard.
func (term *terminal) press(keys string) { _, _ = term.keyboard.WriteString(keys) }

// Write takes what the terminal shows.
func (term *terminal) Write(p []byte) (int, error) {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.screen.Write(p)
}

func (term *terminal) shown() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.screen.String()
}
