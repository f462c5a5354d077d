package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func TestBackupAndRestoreWithoutRoom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 4 {
		if err := f.enqueues(t.Context(), i, 900_000); err != nil {
			t.Fatal(err)
		}
	}
	b := f.backs()
	for name, write := range map[string]func(path string, progress func(done, total int64)) error{
		"backup": func(path string, progress func(done, total int64)) error {
			_, err := f.Backup(t.Context(), path, progress)
			return err
		},
		"restore": func(path string, progress func(done, total int64)) error {
			_, err := sqlite.Restore(t.Context(), b.Path, path, f.options(), progress)
			return err
		},
	} {
		small := smallDisk(t, "1m")
		err := write(filepath.Join(small, "new.db"), nil)
		if !errors.Is(err, queue.ErrFull) || !strings.Contains(err.Error(), "it needs 3.6 MiB, and 16.0 MiB are to be left; "+small+" has 1.0 MiB free") {
			t.Errorf("%s: on a small disk: %v", name, err)
		}
		if got := names(t, small); len(got) != 0 {
			t.Errorf("%s: left %v", name, got)
		}
		filling := smallDisk(t, "24m")
		filled := false
		err = write(filepath.Join(filling, "new.db"), func(int64, int64) {
			if !filled {
				filled = true
				fills(t, filling)
			}
		})
		if !errors.Is(err, queue.ErrFull) {
			t.Errorf("%s: on a disk that others fill: %v", name, err)
		}
		if got := names(t, filling); len(got) != 1 {
			t.Errorf("%s: left %v", name, got)
		}
	}
	if _, err := f.Enqueue(t.Context(), newJob("a", "after")); err != nil {
		t.Errorf("the queue itself: %v", err)
	}
}

// What running jobs are to be recorded in, once the reserve is given up, is left to
// them by backups and restores.
func TestBackupLeavesWhatTheReserveNeeds(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "40m")
	f := newFixtureIn(t, dir)
	f.add(newJob("a", "1"))
	claimed := f.claimOne("a", queue.Rule{})
	elsewhere := f.backs().Path
	empty := fills(t, dir)
	if err := f.enqueues(t.Context(), 2, 100_000); !errors.Is(err, queue.ErrFull) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if got := f.NeedsFree(); got != 16<<20 {
		t.Errorf("it needs %d bytes free", got)
	}
	before, err := f.Free()
	if err != nil || before < 4<<20 {
		t.Fatalf("free: %d, %v", before, err)
	}
	if _, err := f.Backup(t.Context(), filepath.Join(dir, "snapshot.db"), nil); !errors.Is(err, queue.ErrFull) {
		t.Errorf("backup: %v", err)
	}
	if _, err := sqlite.Restore(t.Context(), elsewhere, filepath.Join(dir, "new.db"), f.options(), nil); !errors.Is(err, queue.ErrFull) {
		t.Errorf("restore: %v", err)
	}
	if after, err := f.Free(); after != before {
		t.Errorf("free before %d, after %d, %v", before, after, err)
	}
	if got := wrong(f.examines(f.Path())); !strings.Contains(got["reserve"], "given up") {
		t.Errorf("examined: %v", got)
	}
	if err := f.settle(claimed, 1000); err != nil {
		t.Error(err)
	}
	empty()
	f.reopen()
	if err := f.enqueues(t.Context(), 3, 10); err != nil {
		t.Error(err)
	}
	if got := f.NeedsFree(); got != 0 {
		t.Errorf("afterwards it needs %d bytes free", got)
	}
	if _, err := f.Backup(t.Context(), filepath.Join(dir, "snapshot.db"), nil); err != nil {
		t.Error(err)
	}
}

// A snapshot on a medium that cannot be written is as good as any; a backup to one
// is refused in words.
func TestReadOnlyMedium(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.brings("1", queue.StateReady)
	dir := smallDisk(t, "80m") // none of it is used up
	if _, err := f.Backup(t.Context(), filepath.Join(dir, "snapshot.db"), nil); err != nil {
		t.Fatal(err)
	}
	medium := t.TempDir()
	if err := unix.Mount(dir, medium, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(medium, unix.MNT_DETACH) })
	if err := unix.Mount("", medium, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	snapshot := filepath.Join(medium, "snapshot.db")
	if to, _ := f.restores(snapshot); to.get(1).State != queue.StateQuarantined {
		t.Error("the job is not quarantined")
	}
	if r, err := sqlite.Examine(t.Context(), snapshot, f.options(), sqlite.Known{}); err != nil || len(wrong(r)) != 0 {
		t.Errorf("examined: %v, %v", wrong(r), err)
	}
	newDatabase(t, filepath.Join(dir, "q.db"))
	if got := wrong(f.examines(filepath.Join(medium, "q.db")))["place"]; !strings.Contains(got, "read-only file system; nothing can use it there") {
		t.Errorf("a queue there: %q", got)
	}
	_, err := f.Backup(t.Context(), filepath.Join(medium, "new.db"), nil)
	if !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), medium+" cannot be written") {
		t.Errorf("backup: %v", err)
	}
	if _, err := sqlite.Restore(t.Context(), snapshot, filepath.Join(medium, "new.db"), f.options(), nil); !errors.Is(err, unix.EROFS) {
		t.Errorf("restore: %v", err)
	}
}
