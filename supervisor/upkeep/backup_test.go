package upkeep_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/upkeep"
)

func every(d time.Duration, keep int) upkeep.Settings {
	return upkeep.Settings{Backup: &upkeep.Backup{Every: d, Make: true, Keep: keep}}
}

// names lists what is in the folder for snapshots.
func (b *bench) names() []string {
	entries, err := os.ReadDir(b.folder)
	if err != nil && !os.IsNotExist(err) {
		b.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func (b *bench) wantNames(want ...string) {
	b.Helper()
	if got := b.names(); !slices.Equal(got, want) {
		b.Errorf("the folder holds %q, want %q", got, want)
	}
}

// put makes files in the folder for snapshots.
func (b *bench) put(text []byte, names ...string) {
	b.Helper()
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(b.folder, name), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSnapshots: the first at once, then one each interval; the oldest go.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	inBubble(t, every(24*time.Hour, 2), &fakeQueue{}, func(b *bench) {
		b.start()
		b.wantNames("shop-1a2b3c4d-20000101T000000Z.db")
		if info, err := os.Stat(b.folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v, %v", info.Mode(), err)
		}
		b.pass(24*time.Hour - time.Second)
		b.wantNames("shop-1a2b3c4d-20000101T000000Z.db")
		b.pass(time.Second)
		b.wantNames("shop-1a2b3c4d-20000101T000000Z.db", "shop-1a2b3c4d-20000102T000000Z.db")
		b.pass(24 * time.Hour)
		b.wantNames("shop-1a2b3c4d-20000102T000000Z.db", "shop-1a2b3c4d-20000103T000000Z.db")
		b.wantLogged(3, "snapshot made and verified")
		b.wantLogged(1, "older snapshots removed: snapshots=1 kept=2")
		st := b.Status().Backup
		if st == nil || st.LastPath != filepath.Join(b.folder, "shop-1a2b3c4d-20000103T000000Z.db") || st.LastBytes != 8192 || st.LastSeconds != 3 ||
			!st.LastAt.Equal(time.Now()) || !st.NextAt.Equal(time.Now().Add(24*time.Hour)) || st.EverySeconds != 86400 || st.Late(time.Now()) {
			t.Errorf("status %+v", st)
		}
		if !st.Late(time.Now().Add(49 * time.Hour)) {
			t.Error("two intervals without a snapshot are not late")
		}
	})
}

// TestSnapshotsAfterARestart: what is there says when the next is due; one that was
// missed is made at once, and none is repeated.
func TestSnapshotsAfterARestart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there string
		wait  time.Duration
	}{
		"not due":               {"shop-1a2b3c4d-19991231T180000Z.db", 18 * time.Hour},
		"missed":                {"shop-1a2b3c4d-19991201T000000Z.db", 0},
		"of a time to come":     {"shop-1a2b3c4d-20300101T000000Z.db", 0},
		"of another database":   {"shops-1a2b3c4d-19991231T180000Z.db", 0},
		"not quite its pattern": {"shop-1a2b3c4d-19991231T180000.db", 0},
		"no such time":          {"shop-1a2b3c4d-19991331T180000Z.db", 0},
		"of another queue":      {"shop-1a2b3c4e-19991231T180000Z.db", 0},
		"of nobody":             {"shop-19991231T180000Z.db", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := &fakeQueue{}
			inBubble(t, every(24*time.Hour, 7), q, func(b *bench) {
				b.put(database(3), c.there)
				b.start()
				if c.wait > 0 {
					if st := b.Status().Backup; st.LastPath != filepath.Join(b.folder, c.there) || st.LastBytes != 3*4096 ||
						!st.NextAt.Equal(time.Now().Add(c.wait)) {
						t.Errorf("status %+v", st)
					}
					b.pass(c.wait - time.Second)
					if len(q.made()) != 0 {
						t.Errorf("made %q too soon", q.made())
					}
					b.pass(time.Second)
				}
				if len(q.made()) != 1 {
					t.Errorf("made %q, want one", q.made())
				}
				b.pass(23 * time.Hour)
				if len(q.made()) != 1 {
					t.Errorf("made %q within a day, want one", q.made())
				}
			})
		})
	}
}

// TestSnapshotsRemoveOnlyTheirs: what was cut off is not counted, and nothing is
// removed that is not called as a snapshot of this database, or is no file.
func TestSnapshotsRemoveOnlyTheirs(t *testing.T) {
	t.Parallel()
	inBubble(t, every(time.Hour, 1), &fakeQueue{}, func(b *bench) {
		b.put(database(2), "shop-1a2b3c4d-19990101T000000Z.db", "shop-1a2b3c4d-19990102T000000Z.db", "shop.db", "shop-1a2b3c4d-19990103T000000Z.db.gz",
			"other-1a2b3c4d-19990101T000000Z.db", "shop-00000000-19990101T000000Z.db", "shop-19990101T000000Z.db", "shop-1a2b3c4d-19990104T000000z.db", "shop-before-upgrade.db",
			"shop-1a2b3c4d-19980101T000000Z", "shop-1a2b3c4d-19980102T000000.5Z.db")
		b.put(database(2)[:5000], "shop-1a2b3c4d-19990105T000000Z.db")
		b.put(nil, "shop-1a2b3c4d-19990106T000000Z.db")
		if err := os.Mkdir(filepath.Join(b.folder, "shop-1a2b3c4d-19990107T000000Z.db"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("shop.db", filepath.Join(b.folder, "shop-1a2b3c4d-19990108T000000Z.db")); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.wantNames("other-1a2b3c4d-19990101T000000Z.db", "shop-00000000-19990101T000000Z.db", "shop-19990101T000000Z.db", "shop-1a2b3c4d-19980101T000000Z", "shop-1a2b3c4d-19980102T000000.5Z.db", "shop-1a2b3c4d-19990103T000000Z.db.gz", "shop-1a2b3c4d-19990104T000000z.db", "shop-1a2b3c4d-19990105T000000Z.db",
			"shop-1a2b3c4d-19990106T000000Z.db", "shop-1a2b3c4d-19990107T000000Z.db", "shop-1a2b3c4d-19990108T000000Z.db", "shop-1a2b3c4d-20000101T000000Z.db",
			"shop-before-upgrade.db", "shop.db")
		b.pass(time.Hour)
		if _, err := os.Stat(filepath.Join(b.folder, "shop-1a2b3c4d-20000101T000000Z.db")); !os.IsNotExist(err) {
			t.Error("the one before was not removed")
		}
	})
}

// TestSnapshotsOfAClockSetBack: those of times to come do not push out the one just
// made, and the next is due an interval later.
func TestSnapshotsOfAClockSetBack(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{}
	inBubble(t, every(time.Hour, 1), q, func(b *bench) {
		b.clock.step.Store(int64(1000 * time.Hour))
		b.start()
		b.wantNames("shop-1a2b3c4d-20000211T160000Z.db")
		b.clock.step.Store(0)
		b.pass(time.Minute)
		b.wantNames("shop-1a2b3c4d-20000101T000100Z.db")
		b.pass(time.Hour)
		b.wantNames("shop-1a2b3c4d-20000101T010100Z.db")
	})
}

// TestSnapshotsThatFail: nothing old is removed, the tries become rarer up to the
// interval, and the status is loud until one is made.
func TestSnapshotsThatFail(t *testing.T) {
	t.Parallel()
	var failing atomic.Bool
	failing.Store(true)
	q := &fakeQueue{save: func(string) error {
		if failing.Load() {
			return errDisk
		}
		return nil
	}}
	inBubble(t, every(4*time.Hour, 1), q, func(b *bench) {
		b.put(database(2), "shop-1a2b3c4d-19990101T000000Z.db")
		b.start()
		st := b.Status().Backup
		if st.Error != errDisk.Error() || st.Failures != 1 || !st.NextAt.Equal(time.Now().Add(time.Minute)) || !st.Late(time.Now()) ||
			!st.RunningSince.IsZero() || st.LastPath != filepath.Join(b.folder, "shop-1a2b3c4d-19990101T000000Z.db") {
			t.Errorf("status %+v", st)
		}
		b.pass(24 * time.Hour)
		// After 1, 3, 7, 15, 31, 63, 127 and 255 minutes, then each four hours.
		if n := len(q.made()); n != 9+4 {
			t.Errorf("%d tries in a day: %q", n, q.made())
		}
		b.wantLogged(len(q.made()), "no snapshot could be made")
		b.wantNames("shop-1a2b3c4d-19990101T000000Z.db")
		failing.Store(false)
		b.pass(4 * time.Hour)
		if names := b.names(); len(names) != 1 || names[0] < "shop-1a2b3c4d-2000" {
			t.Errorf("the folder holds %q", names)
		}
		if st := b.Status().Backup; st.Error != "" || st.Failures != 0 || st.Late(time.Now()) {
			t.Errorf("status %+v", st)
		}
	})
}

// TestSnapshotsOfSomebodyElse: a try that failed is over when another service has
// made one.
func TestSnapshotsOfSomebodyElse(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{save: func(string) error { return errDisk }}
	inBubble(t, every(time.Hour, 3), q, func(b *bench) {
		b.start()
		b.pass(30 * time.Second)
		b.put(database(2), "shop-1a2b3c4d-20000101T000020Z.db")
		b.pass(40 * time.Minute)
		if len(q.made()) != 1 {
			t.Errorf("tried %q", q.made())
		}
		if st := b.Status().Backup; st.Error != "" || st.Failures != 0 || !st.NextAt.Equal(time.Date(2000, 1, 1, 1, 0, 20, 0, time.UTC)) {
			t.Errorf("status %+v", st)
		}
	})
}

// TestSnapshotsOfTwoServices: of two that make one at the same second one finds its
// name taken. That is no failure; a name taken by anything else is.
func TestSnapshotsOfTwoServices(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there  string // made by somebody else meanwhile
		failed int
	}{
		"by another service": {"shop-1a2b3c4d-20000101T000000Z.db", 0},
		"by nobody":          {"shop-1a2b3c4d-20000101T000000Z.db-wal", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := &fakeQueue{}
			inBubble(t, every(time.Hour, 3), q, func(b *bench) {
				q.save = func(path string) error {
					time.Sleep(2 * time.Second)
					b.put(database(2), c.there)
					return fmt.Errorf("backup: in the way: %w", queue.ErrConflict)
				}
				b.start()
				b.pass(10 * time.Second)
				b.wantLogged(c.failed, "no snapshot could be made")
				b.wantLogged(1-c.failed, "another service made the snapshot")
				st := b.Status().Backup
				if st.Failures != c.failed || (st.Error != "") != (c.failed > 0) || !st.RunningSince.IsZero() || len(q.made()) != 1 {
					t.Errorf("status %+v, made %q", st, q.made())
				}
				if c.failed == 0 && !st.NextAt.Equal(time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC)) {
					t.Errorf("the next is due at %v", st.NextAt)
				}
			})
		})
	}
}

// TestSnapshotsOfTwoQueues: two queues whose databases have one name keep theirs in one
// folder and know nothing of each other.
func TestSnapshotsOfTwoQueues(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{}
	inBubble(t, every(time.Hour, 1), q, func(b *bench) {
		ctx, cancel := context.WithCancel(context.Background())
		other := upkeep.New(upkeep.Options{
			Queue: q, Clock: b.clock, Database: "/var/shop.db", UID: "ffffffff5e6f708192a3b4c5d6e7f809",
			Settings: upkeep.Settings{Backup: &upkeep.Backup{Every: time.Hour, Folder: b.folder, Make: true, Keep: 1}},
		})
		var done sync.WaitGroup
		done.Go(func() { other.Run(ctx) })
		b.start()
		b.wantNames("shop-1a2b3c4d-20000101T000000Z.db", "shop-ffffffff-20000101T000000Z.db")
		b.pass(3 * time.Hour)
		b.wantNames("shop-1a2b3c4d-20000101T030000Z.db", "shop-ffffffff-20000101T030000Z.db")
		if newest := upkeep.Newest(b.folder, "/srv/shop.db"); newest != "" {
			t.Errorf("of a queue that cannot be told the newest is %s", newest)
		}
		if err := os.Remove(filepath.Join(b.folder, "shop-ffffffff-20000101T030000Z.db")); err != nil {
			t.Fatal(err)
		}
		if newest := filepath.Base(upkeep.Newest(b.folder, "/srv/shop.db")); newest != "shop-1a2b3c4d-20000101T030000Z.db" {
			t.Errorf("the newest is %s", newest)
		}
		cancel()
		done.Wait()
	})
}

// TestSnapshotsOfADiskThatIsNotMounted: a folder that is to be there is not made.
func TestSnapshotsOfADiskThatIsNotMounted(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{}
	settings := every(time.Hour, 3)
	settings.Backup.Make = false
	inBubble(t, settings, q, func(b *bench) {
		b.start()
		if _, err := os.Stat(b.folder); !os.IsNotExist(err) {
			t.Errorf("the folder was made: %v", err)
		}
		if st := b.Status().Backup; st.Error != "there is no folder "+b.folder+": mount its disk, or make it with mkdir -p" || len(q.made()) != 0 {
			t.Errorf("status %+v, made %q", st, q.made())
		}
		b.put(nil) // it is mounted
		b.pass(time.Minute)
		if st := b.Status().Backup; st.Error != "" || len(q.made()) != 1 {
			t.Errorf("status %+v, made %q", st, q.made())
		}
	})
}

// TestSnapshotsFolder: a folder whose own folder is missing is not made: what is
// missing there may be a disk.
func TestSnapshotsFolder(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{}
	inBubble(t, every(time.Hour, 3), q, func(b *bench) {
		gone := filepath.Join(b.folder, "disk", "snapshots")
		b.Apply(upkeep.Settings{Backup: &upkeep.Backup{Every: time.Hour, Folder: gone, Make: true, Keep: 1}})
		b.start()
		if st := b.Status().Backup; st.Error == "" || st.Folder != gone || len(q.made()) != 0 {
			t.Errorf("status %+v, made %q", st, q.made())
		}
		b.Apply(every(time.Hour, 3)) // another folder is tried at once
	})
}

// TestSnapshotsReload: other settings are in use at once.
func TestSnapshotsReload(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{}
	inBubble(t, upkeep.Settings{}, q, func(b *bench) {
		b.start()
		b.pass(time.Hour)
		if st := b.Status().Backup; st != nil {
			t.Errorf("status %+v, want none", st)
		}
		plan := func(d time.Duration) {
			b.Apply(upkeep.Settings{Backup: &upkeep.Backup{Every: d, Folder: b.folder, Make: true, Keep: 9}})
			b.pass(time.Second)
		}
		plan(24 * time.Hour)
		b.wantNames("shop-1a2b3c4d-20000101T010000Z.db")
		b.pass(2 * time.Hour)
		plan(time.Hour) // an hour is over already
		b.wantNames("shop-1a2b3c4d-20000101T010000Z.db", "shop-1a2b3c4d-20000101T030001Z.db")
		b.Apply(upkeep.Settings{})
		b.pass(48 * time.Hour)
		if st := b.Status().Backup; st != nil || len(q.made()) != 2 {
			t.Errorf("status %+v, made %q", st, q.made())
		}
		if b.told.Load() == 0 {
			t.Error("nobody was told of the status")
		}
	})
}
