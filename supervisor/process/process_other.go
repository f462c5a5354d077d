//go:build unix && !linux

package process

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Outside Linux a child has no parent-death signal, its tree is its process
// group, and its leader is reaped as soon as it ends. These systems give the
// number of a group that has members to nobody else; once it is empty, a Kill
// that comes late could in theory meet a new group of that number.

func sysProcAttr(*int) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func pipe(ends *[2]int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends[:]); err != nil {
		return err
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	return nil
}

func sealDescriptors() {}

func standing(*os.File) (int, error) { return 0, errors.ErrUnsupported }

func noExec(string) bool { return false }

// tree is what belongs to one child: the process group its leader leads.
type tree struct {
	leader int
}

func (t tree) awaitLeader(int) Exit {
	var status syscall.WaitStatus
	for {
		switch _, err := syscall.Wait4(t.leader, &status, 0, nil); {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return Exit{Signal: unknownSignal}
		case status.Signaled():
			return Exit{Signal: status.Signal(), Core: status.CoreDump()}
		}
		return Exit{Code: status.ExitStatus()}
	}
}

func (t tree) leaderEnded() bool { return unix.Kill(t.leader, 0) != nil }

// killLeader does nothing: the leader is reaped as soon as it ends, and its
// number alone may then be a stranger's.
func (t tree) killLeader() {}

func (t tree) reapLeader() {}

func readyToKill() error { return nil }

// living answers the leader's number for a group that has members; one that may
// not be signalled has some too.
func (t tree) living() []int {
	if unix.Kill(-t.leader, 0) == unix.ESRCH {
		return nil
	}
	return []int{t.leader}
}

func (t tree) kill([]int) { _ = syscall.Kill(-t.leader, syscall.SIGKILL) }
