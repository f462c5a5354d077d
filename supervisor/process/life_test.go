package process_test

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/b1213022/bailiff/supervisor/process"
)

func TestExit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec process.Spec
		want process.Exit
		text string
	}{
		{self("exit", "0"), process.Exit{}, "exit status 0"},
		{self("exit", "3"), process.Exit{Code: 3}, "exit status 3"},
		{self("exit", "137"), process.Exit{Code: 137}, "exit status 137"},
		{self("exit", "255"), process.Exit{Code: 255}, "exit status 255"},
		{self("die", "9"), process.Exit{Signal: syscall.SIGKILL}, "killed by SIGKILL"},
		{shell("kill -TERM $$"), process.Exit{Signal: syscall.SIGTERM}, "killed by SIGTERM"},
		{shell("ulimit -c 0; kill -SEGV $$"), process.Exit{Signal: syscall.SIGSEGV}, "killed by SIGSEGV"},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			child := start(t, c.spec)
			<-child.Exited()
			got := child.Exit()
			if got.Code != c.want.Code || got.Signal != c.want.Signal {
				t.Errorf("Exit() = %+v, want %+v", got, c.want)
			}
			if text := got.String(); !got.Core && text != c.text {
				t.Errorf("String() = %q, want %q", text, c.text)
			}
		})
	}
}

func TestExitInWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		exit process.Exit
		want string
	}{
		{process.Exit{Signal: syscall.SIGABRT, Core: true}, "killed by SIGABRT (core dumped)"},
		{process.Exit{Signal: 40}, "killed by signal 40"},
		{process.Exit{Signal: -1}, "ended, status not known"},
	} {
		if got := c.exit.String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.exit, got, c.want)
		}
	}
}

// What a child is given is what the Spec says and nothing else.
func TestChildIsGiven(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	child := start(t, process.Spec{
		Argv: []string{"sh", "-c", `env | grep -v -e ^_= -e ^PWD= -e ^SHLVL= -e ^OLDPWD=; pwd; printf '%s\n' "$@"`, "sh", "a b", "$(c)"},
		Dir:  dir,
		Env:  []string{"PATH=/usr/bin:/bin", "GREETING=two words"},
	})
	_ = child.CloseStdin()
	out, err := io.ReadAll(child.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(got[:2])
	if want := []string{"GREETING=two words", "PATH=/usr/bin:/bin", dir, "a b", "$(c)"}; !slices.Equal(got, want) {
		t.Errorf("the child saw %q, want %q", got, want)
	}
	if child.Path != "/usr/bin/sh" && child.Path != "/bin/sh" {
		t.Errorf("Path = %q", child.Path)
	}
}

func TestTerminate(t *testing.T) {
	t.Parallel()

	t.Run("is heard", func(t *testing.T) {
		t.Parallel()
		child := start(t, self("catch-term", "7"))
		said := lines(child)
		said(t)
		if !child.Terminate() {
			t.Error("a living leader was not told")
		}
		if got := child.Exit(); got != (process.Exit{Code: 7}) {
			t.Errorf("it ended with %v, want its own exit status 7", got)
		}
	})

	t.Run("is heard by one that is stopped", func(t *testing.T) {
		t.Parallel()
		child := start(t, self("catch-term", "7"))
		said := lines(child)
		said(t)
		if err := syscall.Kill(child.PID(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if !child.Terminate() {
			t.Error("a stopped leader was not told")
		}
		if got := child.Exit(); got != (process.Exit{Code: 7}) {
			t.Errorf("it ended with %v, want its own exit status 7", got)
		}
	})

	t.Run("reaches the whole group", func(t *testing.T) {
		t.Parallel()
		child := start(t, shell("sleep 600 | sleep 600"))
		if !child.Terminate() {
			t.Error("not told")
		}
		if got := child.Exit(); got.Signal != syscall.SIGTERM {
			t.Errorf("it ended with %v, want SIGTERM", got)
		}
	})

	t.Run("may be ignored, Kill may not", func(t *testing.T) {
		t.Parallel()
		child := start(t, self("catch-term"))
		said := lines(child)
		said(t)
		child.Terminate()
		if got := said(t); got != "term" {
			t.Errorf("it said %q", got)
		}
		select {
		case <-child.Exited():
			t.Fatal("it ended though it goes on after SIGTERM")
		default:
		}
		child.Kill()
		<-child.Gone()
		if got := child.Exit(); got.Signal != syscall.SIGKILL {
			t.Errorf("it ended with %v, want SIGKILL", got)
		}
	})

	t.Run("tells nobody who has ended", func(t *testing.T) {
		t.Parallel()
		child := start(t, self("exit", "0"))
		<-child.Exited()
		if child.Terminate() {
			t.Error("told a leader that had ended")
		}
		child.Kill()
		<-child.Gone()
		if child.Terminate() {
			t.Error("told a leader that is gone")
		}
		if left := child.Left(); left != nil {
			t.Errorf("Left() = %v of a tree that is gone", left)
		}
	})
}

func TestKillAgainAndFromEverywhere(t *testing.T) {
	t.Parallel()
	child := start(t, shell("sleep 600 & sleep 600"))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			child.Kill()
			child.Terminate()
			child.Left()
			<-child.Gone()
		})
	}
	all.Wait()
	select {
	case <-child.Exited():
	default:
		t.Error("gone, but not exited")
	}
}

func TestUnread(t *testing.T) {
	t.Parallel()
	child := start(t, self("read-exactly", "1000", "and exit"))
	if _, err := child.Stdin.Write(make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	if got := lines(child)(t); got != "read 1000" {
		t.Fatalf("it said %q", got)
	}
	unread(t, child, 4000)
	<-child.Exited()
	unread(t, child, 4000)
	child.Kill()
	<-child.Gone()
	unread(t, child, 4000)
	for range 2 {
		if err := child.CloseStdin(); err != nil {
			t.Errorf("close stdin: %v", err)
		}
	}
	if _, err := child.Unread(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Unread of a closed stdin: %v, want os.ErrClosed", err)
	}
}

func unread(t *testing.T, child *process.Child, want int) {
	t.Helper()
	got, err := child.Unread()
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if got != want || err != nil {
		t.Errorf("Unread() = %d, %v, want %d", got, err, want)
	}
}

// Ending the input of a child that reads to the end of it ends the child.
func TestCloseStdin(t *testing.T) {
	t.Parallel()
	child := start(t, process.Spec{Argv: []string{"cat"}, Env: []string{"PATH=" + os.Getenv("PATH")}})
	if _, err := child.Stdin.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if err := child.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(child.Stdout)
	if string(out) != "text" || err != nil {
		t.Errorf("read %q, %v", out, err)
	}
	if got := child.Exit(); got != (process.Exit{}) {
		t.Errorf("it ended with %v", got)
	}
}

// A child that reads nothing gives an error, not a signal, to who writes.
func TestWriteToNobody(t *testing.T) {
	t.Parallel()
	child := start(t, self("exit", "0"))
	<-child.Exited()
	// Another child that is just being forked holds the pipe until its exec.
	for {
		_, err := child.Stdin.Write([]byte{0})
		if errors.Is(err, syscall.EPIPE) {
			return
		}
		if err != nil {
			t.Fatalf("write: %v, want EPIPE", err)
		}
	}
}

func pidOf(t testing.TB, text string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatalf("no pid: %q", text)
	}
	return pid
}

// TestKillTells: Kill answers whether the leader was still alive, once.
func TestKillTells(t *testing.T) {
	t.Parallel()
	alive, ended := start(t, shell("exec sleep 600")), start(t, shell("exit 0"))
	<-ended.Exited()
	if !alive.Kill() {
		t.Error("of one that lives: not told")
	}
	if alive.Kill() {
		t.Error("told twice")
	}
	if ended.Kill() {
		t.Error("of one that had ended: told")
	}
}
