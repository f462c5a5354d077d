package sqlite_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// endless makes a database whose upgrade by BringUp never comes to its end by itself,
// until it is mended.
func endless(t *testing.T, path string) (mend func()) {
	t.Helper()
	db := raw(t, path)
	mustExec(t, db, `ALTER TABLE history RENAME TO aside`)
	mustExec(t, db, `CREATE VIEW history AS WITH RECURSIVE n (i) AS (SELECT begun() UNION ALL SELECT i + 1 FROM n) SELECT x'00' AS handler FROM n`)
	return func() {
		t.Helper()
		mustExec(t, db, `DROP VIEW history`)
		mustExec(t, db, `ALTER TABLE aside RENAME TO history`)
	}
}

// Whoever is told to stop in the midst of it stops, and leaves what was there.
func TestUpgradeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := version1(t)
	before := allRows(t, path)
	mend := endless(t, path)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("told to stop")
	err := sqlite.BringUp(ctx, path, sqlite.Options{Clock: afterwards()}, func() {
		if len(backupsOf(t, path)) != 1 {
			t.Error("there is no backup")
		}
		cancel(stop)
	}, func(commit func() error) error { return commit() })
	if !errors.Is(err, stop) || !strings.Contains(err.Error(), "nothing was changed") {
		t.Error(err)
	}
	mend()
	asVersion1(t, path, before)
}

func init() {
	parts["upgrade"] = func(ctx context.Context, path string) error {
		return sqlite.BringUp(ctx, path, sqlite.Options{Clock: afterwards()}, func() {}, func(commit func() error) error { return commit() })
	}
}

// However often it is killed, one backup is left of all the tries, and what an earlier
// upgrade has left stays.
func TestUpgradeKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	path := version1(t)
	before := allRows(t, path)
	kept := path + ".v1-20250101T000000.000Z.backup"
	if err := os.WriteFile(kept, []byte("of long ago"), 0o600); err != nil {
		t.Fatal(err)
	}
	mend := endless(t, path)
	var last []string
	for range 3 {
		cmd := child(t, "upgrade", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(func() bool { return len(backupsOf(t, path)) == 2 && !slices.Equal(backupsOf(t, path), last) })
		last = backupsOf(t, path)
		kill(t, cmd)
	}
	mend()
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: afterwards(), Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	backups := backupsOf(t, path)
	if len(backups) != 2 || backups[0] != kept || !strings.HasSuffix(backups[1], "Z.backup") {
		t.Fatalf("backups: %v", backups)
	}
	sameContents(t, "backup", allRows(t, backups[1]), before)
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
}

// A commit that failed says what is known about it, and the backup stays as long as it
// may be needed.
func TestUpgradeWhoseCommitFails(t *testing.T) {
	t.Parallel()
	noSync := sqlite.Failure(sqlite3.ErrIoErr, sqlite3.ErrIoErrFsync)
	for name, c := range map[string]struct {
		failure error
		stands  bool
		unknown bool
	}{
		"not confirmed, not there": {noSync, false, true},
		"not confirmed, there":     {noSync, true, true},
		"an error, there":          {sqlite.Failure(sqlite3.ErrIoErr, sqlite3.ErrIoErrSHMMap), true, true},
		"no room":                  {sqlite.Failure(sqlite3.ErrFull, sqlite3.ErrNoExtended(sqlite3.ErrFull)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := version1(t)
			before := allRows(t, path)
			opt := sqlite.Options{Clock: afterwards(), Migrate: true}
			err := sqlite.BringUp(t.Context(), path, opt, func() {}, func(commit func() error) error {
				if c.stands {
					if err := commit(); err != nil {
						t.Error(err)
					}
				}
				return c.failure
			})
			if !errors.Is(err, c.failure) || errors.Is(err, queue.ErrUnknown) != c.unknown ||
				strings.Contains(err.Error(), "nothing was changed") == c.unknown {
				t.Error(err)
			}
			backups := backupsOf(t, path)
			if !c.unknown {
				asVersion1(t, path, before)
			} else if len(backups) != 1 || !strings.Contains(err.Error(), "a backup of before is "+backups[0]) {
				t.Fatalf("backups %v, told %v", backups, err)
			} else {
				sameContents(t, "backup", allRows(t, backups[0]), before)
			}
			q, err := sqlite.Open(t.Context(), path, opt)
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
			after := backupsOf(t, path)
			if len(after) != 1 || !strings.HasSuffix(after[0], "Z.backup") ||
				c.stands && after[0] != strings.TrimSuffix(backups[0], ".unfinished")+".backup" {
				t.Errorf("backups: first %v, then %v", backups, after)
			}
			sameContents(t, "afterwards", allRows(t, path), before)
		})
	}
}
