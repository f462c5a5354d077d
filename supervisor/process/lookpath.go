package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/internal/shellword"
)

// LookPath returns the absolute path of the file that name stands for. A name
// with a slash is a path, relative to dir ("" is this process's own folder). One
// without is looked for in the folders of path, a list like that of the PATH
// variable; entries that are empty or relative are passed over, so that nobody
// runs what happens to lie in the working folder. The file must be a regular one
// that this process may execute. Every error is a *StartError.
func LookPath(name, dir, path string) (string, error) {
	if name == "" {
		return "", &StartError{Reason: "the command is empty"}
	}
	if strings.Contains(name, "/") {
		file, err := absolute(name, dir)
		if err != nil {
			return "", &StartError{Path: name, Reason: "its absolute path is not known: " + err.Error(), Err: err}
		}
		if reason := fileFault(file); reason != "" {
			return "", &StartError{Path: file, Reason: reason, Err: statError(file)}
		}
		return file, nil
	}
	passedOver := ""
	for _, folder := range filepath.SplitList(path) {
		if !filepath.IsAbs(folder) {
			continue
		}
		file := filepath.Join(folder, name)
		reason := fileFault(file)
		if reason == "" {
			return file, nil
		}
		if info, err := os.Stat(file); err == nil && !info.IsDir() && passedOver == "" {
			passedOver = fmt.Sprintf("; %s %s", file, reason)
		}
	}
	reason := "not found by PATH=" + path + passedOver
	if path == "" {
		reason = "not found: its environment has no PATH"
	}
	return "", &StartError{Path: name, Reason: reason, Err: fs.ErrNotExist}
}

func absolute(name, dir string) (string, error) {
	if filepath.IsAbs(name) {
		return filepath.Clean(name), nil
	}
	return filepath.Abs(filepath.Join(dir, name))
}

// statError returns what the system says about a file, nil if it is there.
func statError(file string) error {
	_, err := os.Stat(file)
	return err
}

// fileFault says what keeps a file from being executed, whatever it holds; ""
// if nothing does.
func fileFault(file string) string {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, linkErr := os.Readlink(file); linkErr == nil {
			return "is a link to " + target + ", which does not exist"
		}
		return "does not exist"
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("cannot be reached by user %d: a folder above it is closed to that user", os.Geteuid())
	case err != nil:
		return "cannot be looked at: " + bare(err)
	case info.IsDir():
		return "is a folder, not a program"
	case !info.Mode().IsRegular():
		return "is not a regular file"
	case info.Mode().Perm()&0o111 == 0:
		return "no execute bit. chmod +x " + shellword.Quote(file)
	}
	if unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS) == nil {
		return ""
	}
	if noExec(file) {
		return "lies on a file system that is mounted noexec"
	}
	return fmt.Sprintf("may not be executed by user %d (mode %s)", os.Geteuid(), info.Mode().Perm())
}

// bare takes the operation and the path off a file error.
func bare(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
