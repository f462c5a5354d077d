package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// backs makes a snapshot that must come to be, in a folder of its own.
func (f *fixture) backs() queue.Backup {
	f.Helper()
	b, err := f.Backup(f.Context(), filepath.Join(f.TempDir(), "snapshot.db"), nil)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// names are those in a folder.
func names(t testing.TB, folder string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestBackupIsOneFileThatIsNoQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, state := range queue.States() {
		f.brings("key-"+string(state), state)
	}
	path := filepath.Join(t.TempDir(), "odd name?#%41.db")
	var done, total int64
	b, err := f.Backup(t.Context(), path, func(d, n int64) {
		if d < done {
			t.Errorf("it went back from %d to %d bytes", done, d)
		}
		done, total = d, n
	})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if b.Path != path || b.Bytes != int64(len(content)) || b.Pages*4096 != b.Bytes || b.SHA256 != hex.EncodeToString(sum[:]) ||
		b.QuickCheck != "ok" || b.Schema != 2 || !b.TakenAt.Equal(start) || b.Took <= 0 {
		t.Errorf("receipt: %+v", b)
	}
	if want := (queue.Counts{Scheduled: 1, Ready: 1, Leased: 1, Done: 1, Dead: 1, Quarantined: 1, Cancelled: 1}); b.Jobs != want {
		t.Errorf("jobs: %+v", b.Jobs)
	}
	if done == 0 || done != total {
		t.Errorf("progress ended at %d of %d", done, total)
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("in the folder: %v", got)
	}
	if info, _ := os.Stat(path); info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if content[18] != 1 || content[19] != 1 {
		t.Error("the file says that it has a write-ahead log")
	}
	if _, err := sqlite.Open(t.Context(), path, f.options()); !errors.Is(err, queue.ErrNotOurs) || !strings.Contains(err.Error(), "snapshot of 2026-11-30T03:00:00Z: bailiff restore") {
		t.Errorf("opened: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(content, after) || len(names(t, filepath.Dir(path))) != 1 {
		t.Error("opening it changed something")
	}
}

func TestBackupReplacesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, side := range []string{"", "-wal", "-shm", "-journal", "-reserve"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "q.db")
		if err := os.WriteFile(path+side, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := f.Backup(t.Context(), path, nil)
		if !errors.Is(err, queue.ErrConflict) || !strings.Contains(err.Error(), path+side+" is in the way") {
			t.Errorf("%q: %v, want a conflict that names the file", side, err)
		}
		if b, _ := os.ReadFile(path + side); string(b) != "mine" || len(names(t, dir)) != 1 {
			t.Errorf("%q: the file is %q among %v", side, b, names(t, dir))
		}
	}
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dir, f.Path()} {
		if _, err := f.Backup(t.Context(), path, nil); !errors.Is(err, queue.ErrConflict) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("in the folder: %v", got)
	}
}

// A file that comes into being while the copy is made is not replaced either.
func TestBackupMeetsAFileAtTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := filepath.Join(t.TempDir(), "q.db")
	_, err := f.Backup(t.Context(), path, func(int64, int64) {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Error(err)
		}
	})
	if b, _ := os.ReadFile(path); !errors.Is(err, queue.ErrConflict) || string(b) != "mine" || len(names(t, filepath.Dir(path))) != 1 {
		t.Errorf("%v; the file is %q among %v", err, b, names(t, filepath.Dir(path)))
	}
}

func TestBackupWithoutItsFolder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	_, err := f.Backup(t.Context(), filepath.Join(dir, "no", "q.db"), nil)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "there is no folder "+filepath.Join(dir, "no")) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := f.Backup(t.Context(), filepath.Join(f.Path(), "q.db"), nil); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Errorf("a file for a folder: %v", err)
	}
}

func TestBackupThatIsStoppedLeavesNothing(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	for name, stop := range map[string]func(f *fixture, cancel func(error)){
		"by its caller":  func(_ *fixture, cancel func(error)) { cancel(why) },
		"with its queue": func(f *fixture, _ func(error)) { go f.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			if err := f.enqueues(t.Context(), 1, 1_000_000); err != nil {
				t.Fatal(err)
			}
			if err := f.enqueues(t.Context(), 2, 1_000_000); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			dir := t.TempDir()
			_, err := f.Backup(ctx, filepath.Join(dir, "q.db"), func(done, total int64) {
				if done < total {
					stop(f, cancel)
					<-f.Ending(ctx)
				}
			})
			if want := map[bool]error{true: queue.ErrClosed, false: why}[name == "with its queue"]; !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
			if got := names(t, dir); len(got) != 0 {
				t.Errorf("left: %v", got)
			}
		})
	}
}

// What is left of a backup whose process died is removed by the next one in that
// folder, what is being written is not.
func TestBackupRemovesWhatNobodyWrites(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	left := []string{".q.db.bailiff-partial-0123abcd", ".q.db.bailiff-partial-0123abcd-wal", ".q.db.bailiff-partial-0123abcd-journal", ".other.bailiff-restore-00000000"}
	stays := []string{
		".q.db.bailiff-partial-0123abc", ".q.db.bailiff-partial-0123abcx", "q.db.bailiff-partial-0123abcd", ".q.db.bailiff-backup-0123abcd",
		".q.db.partial-0123abcd", ".rsync.restore-00000000", // another program's
	}
	for _, name := range append(left, stays...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("SQLite format 3\x00 and more"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// SQLite had not come to write the first page.
	if err := os.WriteFile(filepath.Join(dir, ".early.bailiff-partial-00000000"), make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{".empty.bailiff-partial-00000000": "", ".mine.bailiff-partial-00000000": "a text", ".zero.bailiff-restore-00000000": "\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if content != "" {
			stays = append(stays, name)
		}
	}
	var during []string
	if _, err := f.Backup(t.Context(), filepath.Join(dir, "q.db"), func(int64, int64) {
		if during != nil {
			return
		}
		during = names(t, dir)
		if _, err := f.Backup(t.Context(), filepath.Join(dir, "second.db"), nil); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Errorf("the second took away the draft of the first: %v", err)
	}
	if len(during) != len(stays)+1 {
		t.Errorf("during the backup: %v", during)
	}
	got := names(t, dir)
	if len(got) != len(stays)+2 {
		t.Errorf("afterwards: %v", got)
	}
	for _, name := range stays {
		if !slices.Contains(got, name) {
			t.Errorf("%s was removed", name)
		}
	}
}

// A backup reads one moment of the queue however long it takes and whatever is
// written, holds up no read, and blames nobody for the log that grows meanwhile.
func TestBackupHoldsUpNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var log safeBuffer
	opt := f.options()
	opt.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
	q, err := sqlite.Open(t.Context(), f.Path(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if err := f.Close(); err != nil { // whose reader would be a stranger to the other's log
		t.Fatal(err)
	}
	f.Queue = q
	q.BoundWAL(10)
	if err := f.enqueues(t.Context(), 0, 1_000_000); err != nil {
		t.Fatal(err)
	}
	n := 1
	path := filepath.Join(t.TempDir(), "snapshot.db")
	b, err := q.Backup(t.Context(), path, func(done, total int64) {
		for range 20 {
			if err := f.enqueues(t.Context(), n, 100_000); err != nil {
				t.Error(err)
			}
			if _, err := q.List(t.Context(), queue.Filter{}); err != nil {
				t.Error(err)
			}
			n++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if b.Jobs.Ready != 1 || n < 21 {
		t.Errorf("%d jobs in the snapshot, and %d written meanwhile", b.Jobs.Ready, n-1)
	}
	if n := log.count("holds the write-ahead log open"); n != 0 {
		t.Errorf("told %d times of a reader", n)
	}
	until(func() bool { // nothing holds the log any more: it is cut
		if err := f.enqueues(t.Context(), n, 10); err != nil {
			t.Fatal(err)
		}
		n++
		return f.logSize() < 1<<20
	})
}

func TestBackupOfADamagedDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 20 {
		if err := f.enqueues(t.Context(), i, 2000); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "damaged.db")
	damagedCopy(t, f, path)
	q, err := sqlite.Open(t.Context(), path, f.options())
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	dir := t.TempDir()
	if _, err := q.Backup(t.Context(), filepath.Join(dir, "snapshot.db"), nil); !errors.Is(err, queue.ErrNotOurs) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v", err)
	}
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

// damagedCopy writes to path what the closed queue holds, with one page of the
// table jobs overwritten.
func damagedCopy(t testing.TB, f *fixture, path string) {
	t.Helper()
	var page int64
	if err := raw(t, f.Path()).QueryRow(`SELECT rootpage FROM sqlite_schema WHERE name = 'job_data'`).Scan(&page); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	copy(content[(page-1)*4096:page*4096], bytes.Repeat([]byte{0xa5}, 4096))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBackupOfAClosedQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Backup(t.Context(), filepath.Join(t.TempDir(), "q.db"), nil); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A sync that fails when a backup copies the log is a secret to nobody.
func TestSyncThatFailsAfterABackup(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.TellWriter(unsaid)
	if _, err := f.Enqueue(t.Context(), newJob("a", "1")); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("after it: %v, want closed", err)
	}
}
