package sqlite_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A disk that is really full, which needs a file system of our own.
func TestFullDiskInABatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	fullInABatch(newFixtureIn(t, dir), 30_000)
}
