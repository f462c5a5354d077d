package process

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is what belongs to one child: the session its leader leads.
type tree struct {
	leader int // pid, group and session number; reserved until the leader is reaped
}

// proc is /proc, opened before the first child is: a process that has used up
// its descriptors must still find what it is to kill.
var proc procfs

type procfs struct {
	mu  sync.Mutex // a folder has one place to read on from
	dir *os.File   // nil before open
}

// open keeps /proc open from now on. A system without it is no error.
func (p *procfs) open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir != nil {
		return nil
	}
	dir, err := os.Open("/proc")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.dir = dir
	return nil
}

// names lists /proc; fs.ErrNotExist where the system has none.
func (p *procfs) names() ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == nil {
		return nil, fs.ErrNotExist
	}
	if _, err := p.dir.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return p.dir.Readdirnames(-1)
}

// living returns the pids of the session's members that are alive, or that
// nobody can say of whether they are: a tree is gone only when that is known.
// It costs a look at the names in /proc and one system call for each of them.
func (t tree) living() []int {
	names, err := proc.names()
	if errors.Is(err, fs.ErrNotExist) {
		// All that can be known here is the leader.
		if t.leaderEnded() {
			return nil
		}
		return []int{t.leader}
	}
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if t.has(pid) && !t.dead(pid) {
			pids = append(pids, pid)
		}
	}
	if err != nil && len(pids) == 0 {
		return []int{t.leader} // half a list tells of no end
	}
	return pids
}

// has reports whether pid is a member, dead or alive. getsid(2) needs no
// descriptor; it fails for a process that is not there, and where a security
// module hides one, which then is none of ours.
func (t tree) has(pid int) bool {
	session, err := unix.Getsid(pid)
	return err == nil && session == t.leader
}

// dead reports whether it is known of a member that nothing of it runs. A
// process whose first thread has ended shows as a zombie while its others run;
// the count of threads tells (proc_pid_stat(5), fields 3 and 20). A look that
// fails for any other reason than that the process is not there tells nothing.
func (t tree) dead(pid int) bool {
	if pid == t.leader && t.leaderEnded() {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
	}
	// The name, field 2, may hold anything, also ")".
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 18 {
		return false
	}
	state, threads := fields[0], fields[17]
	switch state[0] {
	case 'Z', 'X', 'x':
		count, err := strconv.Atoi(string(threads))
		return err == nil && count <= 1
	}
	return false
}

// readyToKill makes sure that a tree can be found whatever happens later.
func readyToKill() error { return proc.open() }

// kill sends SIGKILL to the leader's group, and to the members given, which may
// have left it. The leader must not be reaped.
func (t tree) kill(members []int) {
	_ = syscall.Kill(-t.leader, syscall.SIGKILL)
	for _, pid := range members {
		if pid != t.leader {
			t.killMember(pid)
		}
	}
}

// killMember kills one member and never a stranger that got its number.
func (t tree) killMember(pid int) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		if err != unix.ESRCH && t.has(pid) { // no pidfd to be had here, or no descriptor
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return
	}
	defer unix.Close(pidfd)
	if t.has(pid) {
		_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
	}
}
