package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
)

func statusOf(pid int, database string) serviceStatus {
	return serviceStatus{Status: supervisor.Status{PID: pid, Database: database}}
}

func TestStateDirHasOneService(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	first, err := lockStateDir(dir, "/etc/bailiff/config.hcl")
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockStateDir(dir, "/etc/bailiff/config.hcl")
	if !errors.Is(err, queue.ErrBusy) || !strings.Contains(err.Error(), "pid "+strconv.Itoa(os.Getpid())) {
		t.Errorf("second service: %v", err)
	}
	if err := first.release(); err != nil {
		t.Fatal(err)
	}
	again, err := lockStateDir(dir, "/etc/bailiff/config.hcl")
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	defer again.release()
}

func TestStatusCountsOnlyWhileItsWriterHoldsTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if s, err := serviceIn(dir); s != nil || err != nil {
		t.Error("a service where there is no lock")
	}
	d, err := lockStateDir(dir, "/c.hcl")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := serviceIn(dir); s == nil || s.PID != os.Getpid() || s.Config != "/c.hcl" || s.Stage != stageStarting || s.StartedAt.IsZero() {
		t.Errorf("before the first status: %+v, %v", s, err)
	}
	if err := d.writeStatus(statusOf(os.Getpid(), "/q.db")); err != nil {
		t.Fatal(err)
	}
	if s, err := serviceIn(dir); s == nil || s.Database != "/q.db" {
		t.Errorf("with a status: %+v, %v", s, err)
	}
	if err := d.writeStatus(statusOf(os.Getpid()+1, "/old.db")); err != nil {
		t.Fatal(err)
	}
	if s, err := serviceIn(dir); s == nil || s.Database != "" || s.PID != os.Getpid() {
		t.Errorf("with a status of another process: %+v, %v", s, err)
	}
	if err := d.release(); err != nil {
		t.Fatal(err)
	}
	if s, err := serviceIn(dir); s != nil || err != nil {
		t.Error("a service after its end")
	}
}

// TestServiceThatCannotBeSeen: not being able to look is no proof that none runs.
func TestServiceThatCannotBeSeen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Symlink(dir, dir); err != nil { // permissions do not stop root
		t.Fatal(err)
	}
	if s, err := serviceIn(dir); s != nil || err == nil {
		t.Errorf("got %+v, %v", s, err)
	}
}

// TestLockThatIsGone: whoever lost the lock touches nothing of its successor.
func TestLockThatIsGone(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	first, err := lockStateDir(dir, "/c.hcl")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.held(); err != nil {
		t.Errorf("while it is there: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := first.held(); !errors.Is(err, errLockGone) {
		t.Errorf("removed: %v", err)
	}
	second, err := lockStateDir(dir, "/c.hcl")
	if err != nil {
		t.Fatal(err)
	}
	defer second.release()
	if err := second.writeStatus(statusOf(os.Getpid(), "/second.db")); err != nil {
		t.Fatal(err)
	}
	if err := first.writeStatus(statusOf(os.Getpid(), "/first.db")); !errors.Is(err, errLockGone) {
		t.Errorf("replaced: %v", err)
	}
	if err := first.release(); !errors.Is(err, errLockGone) {
		t.Errorf("release: %v", err)
	}
	if s, err := serviceIn(dir); s == nil || s.Database != "/second.db" {
		t.Errorf("the second one's status: %+v, %v", s, err)
	}
}
