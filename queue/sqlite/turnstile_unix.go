//go:build unix

package sqlite

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// turnstile lets the queues that were opened with Options.TakeTurns write one
// after the other, across processes: of a crowd only one at a time contends with
// the service for SQLite's lock, which has no order of its own. It is a flock(2)
// on the database's folder, of which SQLite takes no notice.
//
// It is a courtesy and no lock: nothing depends on it. Who cannot have it, or
// waits too long behind one that was stopped, goes on without.
type turnstile struct {
	folder *os.File // nil: no turns are taken
}

// turnStep is how often a turn is asked for, about.
const turnStep = 4 * time.Millisecond

func openTurnstile(path string) turnstile {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return turnstile{}
	}
	return turnstile{folder: folder}
}

// enter waits for the turn, for atMost. leave must be called.
func (t turnstile) enter(atMost time.Duration) (leave func()) {
	if !t.taken() {
		return func() {}
	}
	fd := int(t.folder.Fd())
	crowd := false
	for began := time.Now(); time.Since(began) < atMost; crowd = true {
		switch err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			if crowd {
				<-time.After(2 * courtesy) // the one before has just let go: the service comes between
			}
			return func() { _ = unix.Flock(fd, unix.LOCK_UN) }
		case unix.EWOULDBLOCK, unix.EINTR:
			<-time.After(turnStep/2 + rand.N(turnStep))
		default: // a file system without locks on folders
			return func() {}
		}
	}
	return func() {}
}

// taken reports whether turns are taken.
func (t turnstile) taken() bool { return t.folder != nil }

func (t turnstile) close() {
	if t.taken() {
		_ = t.folder.Close()
	}
}
