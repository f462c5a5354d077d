package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/upkeep"
)

// A state_dir belongs to one service at a time. Its lock is a flock, so it ends
// with the process however that ends; the text in the lock file only tells
// others who holds it. status.json counts only while the lock is held by the
// very process that wrote it.
const (
	lockName   = "lock"
	statusName = "status.json"
)

// stateDir is a state_dir that this process has locked.
type stateDir struct {
	path string
	lock *os.File
}

// holder is the text of a lock file.
type holder struct {
	PID    int    `json:"pid"`
	Config string `json:"config"`
}

// lockStateDir makes the folder where it is missing and locks it. Where another
// service has it, the error wraps queue.ErrBusy and names its pid.
func lockStateDir(path, config string) (*stateDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make state_dir: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state_dir: %w", err)
	}
	if err := lockExclusive(file); err != nil {
		defer file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("state_dir %s is in use by %s: %w", path, readHolder(path), queue.ErrBusy)
		}
		return nil, fmt.Errorf("lock state_dir %s: %w", path, err)
	}
	d := &stateDir{path: path, lock: file}
	if err := d.sign(config); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock state_dir: %w", err)
	}
	return d, nil
}

// lockExclusive tries for half a second: whoever asks whether a service runs
// holds the lock, shared, for an instant.
func lockExclusive(file *os.File) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; ; tries++ {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || tries == 100 {
			return err
		}
		<-tick.C
	}
}

// sign writes who holds the lock, and removes the status of whoever held it
// before.
func (d *stateDir) sign(config string) error {
	text, err := json.Marshal(holder{PID: os.Getpid(), Config: config}, json.WithMarshalers(validText))
	if err != nil {
		return err
	}
	if err := d.lock.Truncate(0); err != nil {
		return err
	}
	if _, err := d.lock.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	return d.removeStatus()
}

// errLockGone is that the lock's file was removed or replaced: another service
// may have the folder now.
var errLockGone = errors.New("the lock in it was removed or replaced")

// held checks that the lock is still the one that others would find.
func (d *stateDir) held() error {
	mine, err := d.lock.Stat()
	if err != nil {
		return fmt.Errorf("look at the lock: %w", err)
	}
	found, err := os.Stat(filepath.Join(d.path, lockName))
	switch {
	case err == nil && os.SameFile(mine, found):
		return nil
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("state_dir %s: %w", d.path, errLockGone)
	default:
		return fmt.Errorf("look at the lock: %w", err)
	}
}

// release gives the folder up, its status removed. The lock is let go by its name:
// a child that is being started holds copies of all descriptors until its exec,
// and would keep a lock that is only closed here (flock(2)).
func (d *stateDir) release() error {
	err := d.held()
	if err == nil {
		err = d.removeStatus()
	}
	return errors.Join(err, unix.Flock(int(d.lock.Fd()), unix.LOCK_UN), d.lock.Close())
}

// removeStatus removes status.json.
func (d *stateDir) removeStatus() error {
	err := os.Remove(filepath.Join(d.path, statusName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// serviceStatus is what status.json holds.
type serviceStatus struct {
	supervisor.Status
	Upkeep *upkeep.Status `json:"upkeep"` // null: this run does not look after the queue
}

// writeStatus puts a status in the place of the one before, whole; not where
// another service may have put its own.
func (d *stateDir) writeStatus(s serviceStatus) error {
	if err := d.held(); err != nil {
		return err
	}
	text, err := json.Marshal(s, json.WithMarshalers(validText))
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, statusName)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func readHolder(path string) holder {
	var h holder
	if text, err := os.ReadFile(filepath.Join(path, lockName)); err == nil {
		_ = json.Unmarshal(text, &h) // half-written by a service that starts just now: no pid known yet
	}
	return h
}

func (h holder) String() string {
	if h.PID == 0 {
		return "another service"
	}
	return fmt.Sprintf("the service with pid %d (configuration %s)", h.PID, h.Config)
}

// stageStarting is a service that has the lock and no status yet.
const stageStarting supervisor.Stage = "starting"

// serviceIn answers what the service that has locked the folder says of itself;
// nil where there is none. The error is that this cannot be seen.
func serviceIn(path string) (*serviceStatus, error) {
	file, err := os.Open(filepath.Join(path, lockName))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for a service: %w", err)
	}
	defer file.Close()
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	h := readHolder(path)
	if text, err := os.ReadFile(filepath.Join(path, statusName)); err == nil {
		var s serviceStatus
		if json.Unmarshal(text, &s) == nil && s.PID == h.PID {
			return &s, nil
		}
	}
	s := &serviceStatus{Status: supervisor.Status{PID: h.PID, Config: h.Config, Stage: stageStarting, At: now(),
		Handlers: []supervisor.HandlerStatus{}, Running: []supervisor.RunStatus{}, Unhandled: []supervisor.UnhandledKind{}}}
	if info, err := file.Stat(); err == nil { // written when the lock was taken
		s.StartedAt, s.LoadedAt = info.ModTime(), info.ModTime()
	}
	return s, nil
}
