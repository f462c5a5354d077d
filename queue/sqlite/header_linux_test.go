package sqlite_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue/sqlite"
)

// Closing any descriptor on a file drops every POSIX lock that the process has
// on it (fcntl(2)); without its shared lock a queue could lose its WAL to
// another process that takes itself for the last one.
func TestOpeningAgainKeepsTheLocksOfTheFirst(t *testing.T) {
	t.Parallel()
	var look *os.File // closed last: closing it drops the locks as well
	t.Cleanup(func() { _ = look.Close() })
	f := newFixture(t)
	look, err := os.OpenFile(f.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The lock bytes of SQLite's unix VFS: 510 of them from 2^30 + 2. A lock of
	// an open file description conflicts with the POSIX locks of its own process.
	locked := func() bool {
		probe := unix.Flock_t{Type: unix.F_WRLCK, Start: 1<<30 + 2, Len: 510}
		if err := unix.FcntlFlock(look.Fd(), unix.F_OFD_GETLK, &probe); err != nil {
			t.Fatal(err)
		}
		return probe.Type != unix.F_UNLCK
	}
	f.add(newJob("a", "1"))
	if !locked() {
		t.Fatal("an open queue holds no lock: this test looks at the wrong bytes")
	}
	again, err := sqlite.Open(t.Context(), f.Path(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if !locked() {
		t.Error("opening the file a second time dropped the first queue's lock")
	}
}
