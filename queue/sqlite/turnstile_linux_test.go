package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue/sqlite"
)

// Commands take turns, a service does not wait for them.
func TestTurnsAreForCommands(t *testing.T) {
	t.Parallel()
	service := newFixture(t)
	folder, err := os.Open(filepath.Dir(service.Path()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX); err != nil { // as another command that writes
		t.Fatal(err)
	}
	q, err := sqlite.Open(t.Context(), service.Path(), sqlite.Options{Clock: service.clock, TakeTurns: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	command := &fixture{TB: t, Queue: q, clock: service.clock}
	answer := make(chan error, 1)
	go func() { answer <- command.enqueues(t.Context(), 1, 10) }()
	until(func() bool { return command.Waiting() != 0 })
	if err := service.enqueues(t.Context(), 2, 10); err != nil {
		t.Error(err)
	}
	if command.Waiting() != 1 {
		t.Error("a command wrote while another had the turn")
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Error(err)
	}
	if err := command.Close(); err != nil { // the turn is given back before
		t.Error(err)
	}
	if err := unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Errorf("the turn was not given back: %v", err)
	}
}
