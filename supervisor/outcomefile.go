package supervisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/b1213022/bailiff/childproto"
)

// This file is about the private folders that hold what plain handlers leave in
// BAILIFF_OUTCOME. What they leave there is theirs: it may be anything.

// privateFolder makes a run's folder in parent.
func privateFolder(parent string, job *childproto.Job) (string, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, fmt.Sprintf("%d.%d-", job.ID, job.Fence)) // mode 0700
}

// privateFolderName is what MkdirTemp makes of it.
var privateFolderName = regexp.MustCompile(`^[0-9]+\.[0-9]+-[0-9]+$`)

// sweepFolders removes the folders of runs whose supervisor did not live to do
// it. Nobody else may use parent now. What cannot be removed does no harm: the
// error is for the log.
func sweepFolders(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var failed error
	for _, entry := range entries {
		if entry.IsDir() && privateFolderName.MatchString(entry.Name()) {
			failed = errors.Join(failed, os.RemoveAll(filepath.Join(parent, entry.Name())))
		}
	}
	return failed
}

// readOutcomeFile reads what the handler left in BAILIFF_OUTCOME. It waits for
// nobody, follows no link and reads no more than an outcome may have: the name
// can have become a pipe, a link or a device, and what is left of the tree may
// still write.
func readOutcomeFile(path string, id int64) (*childproto.Outcome, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO): // a link; a socket, open(2)
		return nil, errNotRegular
	case err != nil:
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	text, err := io.ReadAll(io.LimitReader(file, childproto.MaxOutcomeFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > childproto.MaxOutcomeFile {
		return nil, fmt.Errorf("it is longer than %d bytes", childproto.MaxOutcomeFile)
	}
	return childproto.ParseOutcomeFile(text, id)
}

var errNotRegular = errors.New("it is no regular file")
