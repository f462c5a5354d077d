package process

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sysProcAttr: an own session, a pidfd to wait by, and as a belt SIGKILL when
// this process dies.
func sysProcAttr(pidfd *int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: pidfd}
}

func pipe(ends *[2]int) error { return syscall.Pipe2(ends[:], syscall.O_CLOEXEC) }

// sealDescriptors marks every descriptor above 2 to be closed on exec. Go opens
// its own that way, but what this process inherited, or a C library opened, may
// not be. close_range(2) knows the flag since Linux 5.11.
func sealDescriptors() {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// standing returns how many bytes stand in the pipe f is an end of, either end.
func standing(f *os.File) (n int, err error) {
	ctlErr := control(f, func(fd int) {
		n, err = unix.IoctlGetInt(fd, unix.TIOCINQ) // the same number as FIONREAD, see pipe(7)
	})
	if ctlErr != nil {
		return 0, ctlErr
	}
	return n, err
}

// awaitLeader waits for the leader's end and does not reap it. By a pidfd it
// waits in the runtime's poller, else it holds a thread. It closes pidfd.
func (t tree) awaitLeader(pidfd int) Exit {
	if pidfd >= 0 {
		_ = syscall.SetNonblock(pidfd, true)
		f := os.NewFile(uintptr(pidfd), "pidfd of child")
		defer f.Close()
		if conn, err := f.SyscallConn(); err == nil {
			var exit Exit
			var ended bool
			_ = conn.Read(func(uintptr) bool {
				exit, ended = t.waitLeader(unix.WNOHANG)
				return ended
			})
			if ended {
				return exit
			}
		}
	}
	exit, _ := t.waitLeader(0)
	return exit
}

func (t tree) leaderEnded() bool {
	_, ended := t.waitLeader(unix.WNOHANG)
	return ended
}

// waitLeader asks waitid(2) for the leader's end and leaves it a zombie.
func (t tree) waitLeader(options int) (exit Exit, ended bool) {
	// What waitid writes for SIGCHLD; the union that follows the three ints is
	// aligned to a pointer.
	var info struct {
		head   [3]int32 // signo, errno, code; some machines order them otherwise
		_      [unsafe.Sizeof(uintptr(0)) / 8]int32
		pid    int32
		uid    uint32
		status int32
		_      [128]byte
	}
	system := (*unix.Siginfo)(unsafe.Pointer(&info))
	for {
		err := unix.Waitid(unix.P_PID, t.leader, system, unix.WEXITED|unix.WNOWAIT|options, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil { // ECHILD: this program waited for it elsewhere
			return Exit{Signal: unknownSignal}, true
		}
		break
	}
	if info.pid == 0 {
		return Exit{}, false
	}
	const exited, dumped = 1, 3 // CLD_EXITED, CLD_DUMPED; the third is CLD_KILLED
	switch system.Code {
	case exited:
		return Exit{Code: int(info.status)}, true
	default:
		return Exit{Signal: syscall.Signal(info.status), Core: system.Code == dumped}, true
	}
}

// killLeader sends SIGKILL to the leader alone. It must not be reaped.
func (t tree) killLeader() { _ = syscall.Kill(t.leader, syscall.SIGKILL) }

// reapLeader ends the zombie that waitLeader left.
func (t tree) reapLeader() {
	for {
		if _, err := unix.Wait4(t.leader, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// noExec reports whether the file lies on a file system mounted noexec.
func noExec(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0
}
