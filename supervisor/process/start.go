package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Spec says what to start. Nothing is added to it: no shell, no variable of
// this process's own environment.
type Spec struct {
	// Argv is the command. Argv[0] is resolved by LookPath with Dir and the PATH
	// in Env, and handed to the program as it stands.
	Argv []string

	// Dir is the folder to run in; "" is this process's own.
	Dir string

	// Env is the whole environment, NAME=VALUE, each name once.
	Env []string

	// Stop, once closed, keeps the child from being started: it is looked at
	// before each fork, and ends the waiting for a busy file. Nil: nothing does.
	Stop <-chan struct{}
}

// ErrStopped is in the error of a Start that Spec.Stop ended.
var ErrStopped = errors.New("not wanted any more")

// A file that somebody still writes, or that was inherited open for writing by
// a process being forked at the same moment, cannot be executed (ETXTBSY, see
// execve(2)). That passes; it is tried again for this long.
const (
	busyFirst = time.Millisecond
	busyMax   = 100 * time.Millisecond
	busyFor   = 3 * time.Second
)

// Start starts a child in a session of its own, with pipes as its descriptors
// 0, 1 and 2 and no others. A file that is busy being written is waited for, a
// few seconds at most. Every error is a *StartError, and then nothing runs; it
// wraps ErrStopped if Spec.Stop was closed in time.
//
// The caller owns the child: it must read Stdout and Stderr, call Kill in the
// end, and Close.
func Start(spec Spec) (*Child, error) {
	path, err := resolve(spec.Argv, spec.Dir, searchPath(spec.Env))
	if err != nil {
		return nil, err
	}
	if err := readyToKill(); err != nil {
		return nil, explain(path, spec, fmt.Errorf("open /proc: %w", err))
	}
	theirs, ours, err := openPipes()
	if err != nil {
		return nil, explain(path, spec, err)
	}
	pid, pidfd, err := forkPatiently(path, spec, theirs)
	for _, fd := range theirs {
		_ = syscall.Close(fd)
	}
	if err != nil {
		for _, f := range ours {
			_ = f.Close()
		}
		return nil, explain(path, spec, err)
	}
	c := &Child{
		Path:   path,
		Stdin:  ours[0],
		Stdout: ours[1],
		Stderr: ours[2],
		tree:   tree{leader: pid},
		exited: make(chan struct{}),
		gone:   make(chan struct{}),
	}
	go c.watch(pidfd)
	return c, nil
}

// openPipes makes the three pipes: the child's ends as plain blocking
// descriptors, ours as files that the runtime polls. All are closed on exec.
func openPipes() (theirs [3]int, ours [3]*os.File, err error) {
	for i, name := range [...]string{"stdin", "stdout", "stderr"} {
		var ends [2]int
		if err := pipe(&ends); err != nil {
			for j := range i {
				_ = syscall.Close(theirs[j])
				_ = ours[j].Close()
			}
			return theirs, ours, fmt.Errorf("make pipe for %s: %w", name, err)
		}
		mine := 0 // the read end, but of stdin the write end
		if i == 0 {
			mine = 1
		}
		theirs[i] = ends[1-mine]
		_ = syscall.SetNonblock(ends[mine], true)
		ours[i] = os.NewFile(uintptr(ends[mine]), name+" of child")
	}
	return theirs, ours, nil
}

// forkPatiently is fork, tried again while the file is busy and somebody wants
// the child.
func forkPatiently(path string, spec Spec, files [3]int) (pid, pidfd int, err error) {
	began := time.Now()
	for wait := busyFirst; ; wait = min(2*wait, busyMax) {
		select {
		case <-spec.Stop:
			return 0, -1, ErrStopped
		default:
		}
		pid, pidfd, err = fork(path, spec, files)
		if !errors.Is(err, syscall.ETXTBSY) || time.Since(began) > busyFor {
			return pid, pidfd, err
		}
		select {
		case <-spec.Stop:
		case <-time.After(wait):
		}
	}
}

// fork is the one place where a process is made. pidfd is -1 where the system
// gives none; the caller owns it.
func fork(path string, spec Spec, files [3]int) (pid, pidfd int, err error) {
	attr := &syscall.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Env,
		Files: []uintptr{uintptr(files[0]), uintptr(files[1]), uintptr(files[2])},
	}
	pidfd = -1
	attr.Sys = sysProcAttr(&pidfd)
	done := make(chan struct{})
	forks() <- func() {
		defer close(done)
		sealDescriptors()
		pid, err = syscall.ForkExec(path, spec.Argv, attr)
	}
	<-done
	return pid, pidfd, err
}

// forks is the way to the one thread that forks. A parent-death signal is sent
// when the *thread* that forked ends (prctl(2), PR_SET_PDEATHSIG), and the
// runtime ends threads as it likes; this one is locked and never ends before
// the process does.
var forks = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// searchPath returns the PATH of an environment, "" if it has none.
func searchPath(env []string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			return value
		}
	}
	return ""
}
