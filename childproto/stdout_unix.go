//go:build unix

package childproto

import (
	"fmt"
	"os"
	"syscall"
)

// takeStdout moves stdout to a descriptor that nothing else knows and no child
// inherits, and makes descriptor 1 another name of stderr, so that whatever is
// printed, by C libraries and children too, lands in the log. The function puts
// things back.
func takeStdout() (*os.File, func(), error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Dup(1)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("duplicate stdout: %w", err)
	}
	if err := duplicate(2, 1); err != nil {
		_ = syscall.Close(fd)
		return nil, nil, fmt.Errorf("point stdout to stderr: %w", err)
	}
	stdout := os.NewFile(uintptr(fd), "stdout")
	return stdout, func() {
		_ = duplicate(fd, 1) // both are open: nothing to fail on
		_ = stdout.Close()
	}, nil
}
