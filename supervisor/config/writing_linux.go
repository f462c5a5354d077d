package config

import (
	"os"
	"syscall"
)

// openForWriting reports whether some process has the file open for writing.
// The kernel grants a read lease only while nobody has (fcntl(2), F_SETLEASE:
// EAGAIN), so asking for one and giving it back at once tells. It cannot be
// asked of another user's file; the answer is then false.
func openForWriting(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	lease := func(kind uintptr) syscall.Errno {
		_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_SETLEASE, kind)
		return errno
	}
	errno := lease(syscall.F_RDLCK)
	if errno == 0 {
		_ = lease(syscall.F_UNLCK) // closing the file would give it back too
	}
	return errno == syscall.EAGAIN
}
