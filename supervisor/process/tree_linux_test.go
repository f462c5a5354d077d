package process_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/b1213022/bailiff/supervisor/process"
	"golang.org/x/sys/unix"
)

func init() {
	behaviours["leave-a-group"] = leaveAGroup
	behaviours["lose-a-thread"] = loseAThread
	behaviours["start-and-wait"] = startAndWait
	behaviours["many-spawns"] = manySpawns
	behaviours["many-waits"] = manyWaits
	behaviours["no-descriptors"] = noDescriptors
	behaviours["no-descriptors-to-kill"] = noDescriptorsToKill
	if os.Getenv(behaviourVariable) == "lose-a-thread" {
		runtime.LockOSThread() // main stays on the first thread
	}
}

// leaveAGroup starts a process in a group of its own, says its pid and exits.
func leaveAGroup([]string) {
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fail("start: %v", err)
	}
	fmt.Println(cmd.Process.Pid)
}

// loseAThread ends its first thread; the others live on, and the process shows
// as a zombie.
func loseAThread([]string) {
	go func() {
		stat := "/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/stat"
		for state := ""; state != "Z"; {
			text, err := os.ReadFile(stat)
			if err != nil {
				fail("%v", err)
			}
			_, _ = fmt.Sscanf(string(afterName(text)), "%s", &state)
		}
		fmt.Println("zombie")
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

// afterName returns the fields of a /proc/PID/stat that follow the name.
func afterName(stat []byte) []byte {
	return bytes.TrimLeft(stat[bytes.LastIndexByte(stat, ')')+1:], " ")
}

// awaitDeath waits until a process that need not be a child has ended.
func awaitDeath(t testing.TB, pid int) {
	t.Helper()
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	if err != nil {
		t.Fatalf("pidfd of %d: %v", pid, err)
	}
	defer unix.Close(pidfd)
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			t.Fatalf("poll: %v", err)
		}
	}
}

// ended reports whether a process is a zombie or not there.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || afterName(stat)[0] == 'Z'
}

func TestOwnSessionAndNoTerminal(t *testing.T) {
	t.Parallel()
	child := start(t, shell("(: </dev/tty) 2>/dev/null && echo a terminal || echo no terminal; cat"))
	if got := lines(child)(t); got != "no terminal" {
		t.Errorf("it found %s", got)
	}
	session, err := unix.Getsid(child.PID())
	if session != child.PID() || err != nil {
		t.Errorf("session of %d is %d, %v", child.PID(), session, err)
	}
	group, err := unix.Getpgid(child.PID())
	if group != child.PID() || err != nil {
		t.Errorf("group of %d is %d, %v", child.PID(), group, err)
	}
}

// A descriptor that this process inherited or a C library opened stays here.
func TestOnlyThreeDescriptors(t *testing.T) {
	t.Parallel()
	leaky, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // no O_CLOEXEC
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaky)
	child := start(t, process.Spec{Argv: []string{"/bin/cat"}})
	if _, err := child.Stdin.WriteString("up\n"); err != nil {
		t.Fatal(err)
	}
	lines(child)(t)
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", child.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, link := range links {
		got = append(got, filepath.Base(link))
	}
	if want := []string{"0", "1", "2"}; !slices.Equal(got, want) {
		t.Errorf("the child has the descriptors %v, want %v", got, want)
	}
}

func TestKillReaches(t *testing.T) {
	t.Parallel()

	t.Run("what outlived the leader", func(t *testing.T) {
		t.Parallel()
		child := start(t, shell("sleep 600 & echo $!"))
		grandchild := pidOf(t, lines(child)(t))
		<-child.Exited()
		if got := child.Left(); !slices.Equal(got, []int{grandchild}) {
			t.Errorf("Left() = %v, want the grandchild %d", got, grandchild)
		}
		child.Kill()
		<-child.Gone()
		if !ended(grandchild) {
			t.Error("gone, but the grandchild lives")
		}
	})

	t.Run("another group of the session", func(t *testing.T) {
		t.Parallel()
		child := start(t, self("leave-a-group"))
		grandchild := pidOf(t, lines(child)(t))
		<-child.Exited()
		if got := child.Left(); !slices.Equal(got, []int{grandchild}) {
			t.Errorf("Left() = %v, want the grandchild %d", got, grandchild)
		}
		child.Kill()
		<-child.Gone()
		if !ended(grandchild) {
			t.Error("gone, but the grandchild lives")
		}
	})

	t.Run("a pipeline that is stopped", func(t *testing.T) {
		t.Parallel()
		child := start(t, shell("sleep 600 & echo $!; cat | cat"))
		grandchild := pidOf(t, lines(child)(t))
		if err := syscall.Kill(-child.PID(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		child.Kill()
		<-child.Gone()
		if !ended(grandchild) {
			t.Error("gone, but the grandchild lives")
		}
	})

	t.Run("one whose first thread has ended", func(t *testing.T) {
		t.Parallel()
		// The shell makes it no leader, so that only /proc tells of it.
		spec := self("lose-a-thread")
		spec.Argv = []string{"/bin/sh", "-c", os.Args[0] + " & echo $!"}
		child := start(t, spec)
		said := lines(child)
		grandchild := pidOf(t, said(t))
		if got := said(t); got != "zombie" {
			t.Fatalf("it said %q", got)
		}
		<-child.Exited()
		if got := child.Left(); !slices.Equal(got, []int{grandchild}) {
			t.Errorf("Left() = %v, want %d, whose other threads run", got, grandchild)
		}
		child.Kill()
		<-child.Gone()
	})

	t.Run("a tree that grows", func(t *testing.T) {
		t.Parallel()
		child := start(t, shell("for i in 1 2 3 4; do sh -c 'while :; do (sleep 600 & sleep 0.01); done' & done; echo up; wait"))
		lines(child)(t)
		child.Kill()
		<-child.Gone()
		if members := session(t, child.PID()); len(members) > 0 {
			t.Errorf("gone, but %v live", members)
		}
	})
}

// session lists the living members of a session by another way than the package:
// the stat lines of /proc.
func session(t testing.TB, id int) (living []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(afterName(stat)))
		if fields[0] != "Z" && fields[3] == strconv.Itoa(id) {
			living = append(living, number(filepath.Base(filepath.Dir(name))))
		}
	}
	return living
}

// The leader's numbers stay taken until nothing of its tree lives.
func TestLeaderIsNotReapedBeforeItsTree(t *testing.T) {
	t.Parallel()
	child := start(t, shell("sleep 600 & exit 5"))
	<-child.Exited()
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child.PID())); err != nil || afterName(stat)[0] != 'Z' {
		t.Errorf("after its end the leader is not a zombie: %q, %v", stat, err)
	}
	child.Kill()
	<-child.Gone()
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child.PID())); err == nil {
		t.Errorf("gone, but not reaped: %q", stat)
	}
	if got := child.Exit(); got != (process.Exit{Code: 5}) {
		t.Errorf("it ended with %v, want its own exit status 5, not that of the kill", got)
	}
}

// A thread that ends takes no child with it, whoever asked for the child.
func TestChildOutlivesThread(t *testing.T) {
	t.Parallel()
	type made struct {
		child  *process.Child
		thread int
		err    error
	}
	answer := make(chan made)
	startAndEnd := func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if unix.Gettid() == os.Getpid() {
			answer <- made{} // but the first thread never does
			return
		}
		child, err := process.Start(process.Spec{Argv: []string{"/bin/cat"}})
		answer <- made{child, unix.Gettid(), err}
	}
	go startAndEnd()
	got := <-answer
	if got.thread == 0 {
		go startAndEnd() // the first thread is locked by now
		got = <-answer
	}
	if got.err != nil {
		t.Fatal(got.err)
	}
	child := got.child
	defer func() {
		child.Kill()
		<-child.Gone()
		_ = child.Close()
	}()
	for unix.Tgkill(os.Getpid(), got.thread, 0) == nil {
		runtime.Gosched()
	}
	if _, err := child.Stdin.WriteString("alive\n"); err != nil {
		t.Fatal(err)
	}
	if said := lines(child)(t); said != "alive" {
		t.Errorf("it said %q", said)
	}
}

func startAndWait([]string) {
	child, err := process.Start(process.Spec{Argv: []string{"/bin/sleep", "600"}})
	if err != nil {
		fail("start: %v", err)
	}
	fmt.Println(child.PID())
	select {}
}

// The belt: who loses this process loses its life.
func TestChildDiesWithParent(t *testing.T) {
	t.Parallel()
	parent := start(t, self("start-and-wait"))
	child := pidOf(t, lines(parent)(t))
	if err := syscall.Kill(parent.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitDeath(t, child)
}

// Counts and limits of descriptors, and counts of goroutines, mean something
// only in a process that does nothing else, so these run in one of their own.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []string{"many-spawns", "many-waits", "no-descriptors", "no-descriptors-to-kill"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			child := start(t, self(behaviour))
			tail := process.NewTail(4096)
			if err := process.Pump(child.Stderr, 4096, func(line []byte, _ bool) { tail.Add(line) }); err != nil {
				t.Fatal(err)
			}
			if got := child.Exit(); got != (process.Exit{}) {
				t.Errorf("%v: %s", got, tail.Last())
			}
		})
	}
}

// spawn starts a child with a grandchild, and ends both.
func spawn() {
	child, err := process.Start(shell("sleep 600 & cat >/dev/null"))
	if err != nil {
		fail("start: %v", err)
	}
	_ = child.CloseStdin()
	<-child.Exited()
	child.Kill()
	<-child.Gone()
	if err := child.Close(); err != nil {
		fail("close: %v", err)
	}
}

func manySpawns([]string) {
	spawn() // the poller and the forking thread come with the first and stay
	descriptors, goroutines := openDescriptors(), runtime.NumGoroutine()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 125 {
				spawn()
			}
		})
	}
	all.Wait()
	for runtime.NumGoroutine() > goroutines { // one that has closed a channel may not have ended yet
		runtime.Gosched()
	}
	if now := openDescriptors(); now != descriptors {
		fail("%d descriptors before, %d after", descriptors, now)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		fail("children are left: wait4 answers %d, %v", pid, err)
	}
}

// manyWaits: waiting for a child takes no thread.
func manyWaits([]string) {
	const count = 100
	children := make([]*process.Child, count)
	for i := range children {
		child, err := process.Start(process.Spec{Argv: []string{"/bin/sleep", "600"}})
		if err != nil {
			fail("start: %v", err)
		}
		children[i] = child
	}
	if threads := threadCount(); threads >= count {
		fail("%d threads for %d children", threads, count)
	}
	for _, child := range children {
		child.Kill()
	}
	for _, child := range children {
		<-child.Gone()
	}
}

func openDescriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		fail("%v", err)
	}
	return len(entries)
}

func threadCount() int {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		fail("%v", err)
	}
	defer status.Close()
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if count, ok := strings.CutPrefix(lines.Text(), "Threads:"); ok {
			return number(strings.TrimSpace(count))
		}
	}
	fail("no count of threads")
	return 0
}
