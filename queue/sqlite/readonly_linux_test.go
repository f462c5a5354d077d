package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue/sqlite"
)

// A disk that became read-only is told as such, not as a file that is not there.
func TestReadOnlyDiskIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	path := filepath.Join(dir, "q.db")
	if err := sqlite.Create(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	// A descriptor of a child that is just being started may still be open for
	// writing, so the look is taken through a second, read-only mount.
	view := t.TempDir()
	if err := unix.Mount(dir, view, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(view, unix.MNT_DETACH) })
	if err := unix.Mount("", view, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), filepath.Join(view, "q.db"), sqlite.Options{})
	if !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), "cannot be written: read-only file system") {
		t.Errorf("got %v", err)
	}
}
