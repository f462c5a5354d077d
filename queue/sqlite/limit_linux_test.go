package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func init() {
	// What concerns a whole process is done in one of its own.
	parts["below-a-limit"] = belowALimit
	parts["on-a-network"] = onANetwork
}

// plays lets another process play a part that must succeed.
func plays(t testing.TB, part, path string) {
	t.Helper()
	if err := child(t, part, path).Run(); err != nil {
		t.Errorf("%s: %v", part, err)
	}
}

// A write beyond the limit for the size of files is an error like any other, not
// the end of the process.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "q.db")
	newDatabase(t, path)
	plays(t, "below-a-limit", path)
	sound(t, path)
}

func belowALimit(ctx context.Context, path string) error {
	const limit = 800_000
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	q, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = q.Close() }()
	add := func(i int) error {
		n := newJob("a", fmt.Sprint(i))
		n.Payload = fmt.Appendf(nil, "%q", strings.Repeat("x", 20_000))
		_, err := q.Enqueue(ctx, n)
		return err
	}
	last := 0
	for ; err == nil && last < 1000; last++ {
		err = add(last)
	}
	if !errors.Is(err, queue.ErrFull) || !strings.Contains(err.Error(), "file size limit") {
		return fmt.Errorf("got %v, want full", err)
	}
	if _, get := q.Get(ctx, queue.Ref{Kind: "a", Key: fmt.Sprint(last - 1)}); !errors.Is(get, queue.ErrNotFound) {
		return fmt.Errorf("what was refused: %w", get)
	}
	// The log is copied meanwhile, and begun anew.
	for tries := 0; tries < 10 && errors.Is(err, queue.ErrFull); tries++ {
		err = add(last)
	}
	if err != nil {
		return fmt.Errorf("afterwards: %w", err)
	}
	if _, err := os.Stat(path + "-reserve"); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("a reserve that is above the limit: %w", err)
	}
	return nil
}

// A network file system is refused, unless insisted on.
func TestNetworkFileSystemIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "q.db")
	newDatabase(t, path)
	plays(t, "on-a-network", path)
}

func onANetwork(ctx context.Context, path string) error {
	if err := sqlite.TakeForNetwork(filepath.Dir(path)); err != nil {
		return err
	}
	made := path + ".made"
	_, err := sqlite.Open(ctx, path, sqlite.Options{})
	for act, err := range map[string]error{"open": err, "create": sqlite.Create(ctx, made, sqlite.Options{})} {
		if !errors.Is(err, queue.ErrNotOurs) || !strings.Contains(err.Error(), "network file system (wires)") || !strings.Contains(err.Error(), "network_fs = true") {
			return fmt.Errorf("%s: got %w", act, err)
		}
	}
	insist := sqlite.Options{NetworkFS: true}
	if err := sqlite.Create(ctx, made, insist); err != nil {
		return err
	}
	q, err := sqlite.Open(ctx, path, insist)
	if err != nil {
		return err
	}
	return errors.Join(backsOnANetwork(ctx, q, filepath.Dir(path)), q.Close())
}

// backsOnANetwork makes backups where flock(2) would conflict with SQLite's locks: it
// takes none, and so takes nothing for left behind.
func backsOnANetwork(ctx context.Context, q *sqlite.Queue, folder string) error {
	left := filepath.Join(folder, ".other.db.bailiff-partial-0123abcd")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		return err
	}
	var during error
	if _, err := q.Backup(ctx, filepath.Join(folder, "snapshot.db"), func(int64, int64) {
		drafts, err := filepath.Glob(filepath.Join(folder, ".snapshot.db.bailiff-partial-*"))
		if err != nil || len(drafts) != 1 {
			during = fmt.Errorf("drafts: %v, %w", drafts, err)
			return
		}
		during = flocks(drafts[0])
	}); err != nil || during != nil {
		return errors.Join(err, during)
	}
	_, err := os.Stat(left)
	return err
}

// flocks answers nil where nobody holds a flock on a file.
func flocks(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), f.Close())
}
