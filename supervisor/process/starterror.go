package process

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// StartError says why a command does not start.
type StartError struct {
	Path   string // the file, or the name that no file was found for
	Reason string // what is wrong, in words, with what to do about it
	Err    error  // the system's own error; nil where this package found out first
}

// Error names the file and says the reason.
func (e *StartError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Err }

// TooLong reports whether the command line and the environment were more than
// the system takes: then what was to be started is to blame, not the program.
func (e *StartError) TooLong() bool { return errors.Is(e.Err, syscall.E2BIG) }

// explain puts an error of execve(2), fork(2) or pipe(2) into words.
func explain(path string, spec Spec, err error) *StartError {
	reason := ""
	switch {
	case errors.Is(err, ErrStopped):
		reason = err.Error()
	case errors.Is(err, syscall.E2BIG):
		reason = tooLong(spec)
	case errors.Is(err, syscall.ETXTBSY):
		reason = fmt.Sprintf("somebody has had it open for writing for %s (text file busy)", busyFor)
	case errors.Is(err, syscall.EAGAIN):
		reason = "no room for another process (the limit of the user, RLIMIT_NPROC, or of the cgroup, pids.max)"
	case errors.Is(err, syscall.ENOMEM):
		reason = "no memory for another process"
	case errors.Is(err, syscall.EMFILE):
		reason = "no descriptors left for its pipes (ulimit -n)"
	case errors.Is(err, syscall.ENFILE):
		reason = "the system has no descriptors left for its pipes"
	case errors.Is(err, syscall.EINVAL) && holdsNUL(spec):
		reason = "an argument or a variable of its environment holds a NUL byte"
	default:
		reason = afterRefusal(path, err)
	}
	return &StartError{Path: path, Reason: reason, Err: err}
}

// afterRefusal looks at a file that the system refused to execute.
func afterRefusal(path string, err error) string {
	if reason := fileFault(path); reason != "" {
		return reason
	}
	if reason := programFault(path); reason != "" {
		return reason
	}
	if errors.Is(err, syscall.ENOEXEC) {
		if program, openErr := elf.Open(path); openErr == nil {
			defer program.Close()
			return fmt.Sprintf("is a program for another machine (%s)", program.Machine)
		}
		return "is no program this system can run (exec format error)"
	}
	return err.Error()
}

// tooLong names the longest string of the command line and the environment; no
// value is shown. One string may have 128 KiB, all together about a quarter of
// the stack limit (execve(2), "Limits on size of arguments and environment").
func tooLong(spec Spec) string {
	total, longest, name := 0, -1, ""
	for i, arg := range spec.Argv {
		total += len(arg) + 1
		if len(arg) > longest {
			longest, name = len(arg), fmt.Sprintf("argument %d", i)
		}
	}
	for _, entry := range spec.Env {
		total += len(entry) + 1
		if len(entry) > longest {
			variable, _, _ := strings.Cut(entry, "=")
			longest, name = len(entry), variable
		}
	}
	return fmt.Sprintf("its command line and environment are too long for the system: %d bytes, of which %s has %d", total, name, longest)
}

func holdsNUL(spec Spec) bool {
	for _, list := range [][]string{spec.Argv, spec.Env} {
		for _, text := range list {
			if strings.IndexByte(text, 0) >= 0 {
				return true
			}
		}
	}
	return false
}
