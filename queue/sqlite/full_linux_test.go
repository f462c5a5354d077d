package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

const reserveSize = 8 << 20

// smallDisk mounts a file system of our own.
func smallDisk(t testing.TB, size string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fills writes a file until there is no room any more.
func fills(t testing.TB, dir string) (empty func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 20, 4096} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() { remove(t, name) }
}

// reserved is how many bytes of the disk the reserve takes; -1: there is none.
func reserved(t testing.TB, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	err := unix.Stat(path+"-reserve", &st)
	if errors.Is(err, unix.ENOENT) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	if st.Size != st.Blocks*512 {
		t.Errorf("the reserve has %d bytes and takes %d", st.Size, st.Blocks*512)
	}
	return st.Size
}

// opens opens the database once more, with a log to look at.
func (f *fixture) opens() (*sqlite.Queue, *safeBuffer) {
	f.Helper()
	var log safeBuffer
	opt := f.options()
	opt.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
	q, err := sqlite.Open(f.Context(), f.Path(), opt)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = q.Close() })
	return q, &log
}

func (f *fixture) settle(c queue.Claimed, result int) error {
	_, err := f.Settle(f.Context(), queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: queue.Outcome{
		Is: queue.RunDone, Result: fmt.Appendf(nil, "%q", strings.Repeat("r", result)),
	}})
	return err
}

// A disk that is really full.
func TestFullDiskInABatch(t *testing.T) {
	t.Parallel()
	fullInABatch(newFixtureIn(t, smallDisk(t, "2m")), 30_000)
}

// On a full disk running jobs go on and are recorded, and nothing else is.
func TestFullDiskRecordsRunningJobs(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "40m")
	f := newFixtureIn(t, dir)
	var log *safeBuffer
	f.Queue, log = f.opens()
	other, _ := f.opens()
	for i := range 4 {
		f.add(newJob("a", fmt.Sprint(i)))
	}
	running := f.claims(want("a", 3, queue.Rule{}))
	if got := reserved(t, f.Path()); got != reserveSize {
		t.Fatalf("the reserve has %d bytes", got)
	}
	empty := fills(t, dir)
	refused := func(act string, err error) {
		t.Helper()
		if !errors.Is(err, queue.ErrFull) || !strings.Contains(err.Error(), "only what running jobs record is still written") {
			t.Errorf("%s: got %v, want full", act, err)
		}
	}
	for i := range 1000 { // the log has room for some
		if err := f.enqueues(t.Context(), 100+i, 4000); err != nil {
			refused("the first write that does not fit", err)
			break
		}
	}
	if got := reserved(t, f.Path()); got != 0 {
		t.Errorf("the reserve has %d bytes", got)
	}
	before := f.count()

	refused("enqueue", f.enqueues(t.Context(), 5000, 10))
	_, err := f.Claim(t.Context(), want("a", 1, queue.Rule{}))
	refused("claim", err)
	_, err = other.Enqueue(t.Context(), newJob("b", "1"))
	refused("enqueue by another", err)
	for _, c := range running {
		if r := f.renews(c, time.Minute); r.Err != nil {
			t.Errorf("renewal: %v", r.Err)
		}
	}
	for _, c := range running[:2] {
		if err := f.settle(c, 500_000); err != nil {
			t.Errorf("settle: %v", err)
		}
	}

	if err := errors.Join(other.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	var again *safeBuffer
	f.Queue, again = f.opens()
	if got := f.count(); got != before {
		t.Errorf("%d jobs, %d before", got, before)
	}
	for i, c := range running {
		want := queue.StateDone
		if i == 2 {
			want = queue.StateLeased
		}
		if job := f.get(c.Job.ID); job.State != want {
			t.Errorf("job %d is %s", job.ID, job.State)
		}
	}
	f.clock.Advance(30 * time.Second) // past the first deadline
	if err := f.settle(running[2], 500_000); err != nil {
		t.Errorf("settle after opening again: %v", err)
	}
	refused("enqueue", f.enqueues(t.Context(), 5000, 10))

	empty()
	if err := f.enqueues(t.Context(), 5000, 10); err != nil {
		t.Errorf("enqueue with room again: %v", err)
	}
	if got := reserved(t, f.Path()); got != reserveSize {
		t.Errorf("the reserve has %d bytes", got)
	}
	if n := log.count("the disk is full"); n != 1 {
		t.Errorf("it was told %d times that the disk is full", n)
	}
	if n := again.count("the disk has room again"); n != 1 {
		t.Errorf("it was told %d times that there is room", n)
	}
}

// count is how many jobs there are.
func (f *fixture) count() int64 {
	f.Helper()
	m, err := f.Metrics(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return m.Ready + m.Leased + m.Done
}

// One commit is about both; each is answered by what it is.
func TestFullDiskInABatchOfBothKinds(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "40m")
	f := newFixtureIn(t, dir)
	const n = 16
	for i := range n {
		f.add(newJob("run", fmt.Sprint(i)))
	}
	running := f.claims(want("run", n, queue.Rule{}))
	fills(t, dir)
	answers := together(f, 2*n, func(i int) error {
		if i < n {
			return f.settle(running[i], 100_000)
		}
		return f.enqueues(t.Context(), i, 100_000)
	}, func() {})
	for i, err := range answers {
		if i < n && err != nil || i >= n && !errors.Is(err, queue.ErrFull) {
			t.Errorf("%d: %v", i, err)
		}
	}
	f.reopen()
	for _, c := range running {
		if job := f.get(c.Job.ID); job.State != queue.StateDone {
			t.Errorf("job %d is %s", job.ID, job.State)
		}
	}
}

// The side files that were removed when it was closed do not fit, but for the
// reserve.
func TestFullDiskIsNoObstacleToOpening(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "40m")
	f := newFixtureIn(t, dir)
	f.add(newJob("a", "1"))
	c := f.claimOne("a", queue.Rule{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	fills(t, dir)
	f.Queue, _ = f.opens()
	if err := f.settle(c, 1000); err != nil {
		t.Error(err)
	}
	if got := reserved(t, f.Path()); got != 0 {
		t.Errorf("the reserve has %d bytes", got)
	}
}

// What cannot be copied into the file when the queue is closed stays in the log.
func TestFullDiskAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "12m")
	f := newFixtureIn(t, dir)
	for i := range 20 {
		if err := f.enqueues(t.Context(), i, 100_000); err != nil {
			t.Fatal(err)
		}
	}
	fills(t, dir)
	f.reopen()
	if got := f.count(); got != 20 {
		t.Errorf("%d jobs", got)
	}
	if got := reserved(t, f.Path()); got != -1 {
		t.Errorf("a disk too small for it has a reserve of %d bytes", got)
	}
}

// What is at its place and is no reserve is not touched, and hinders nobody.
func TestReserveOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(name string) error{
		"another size": func(name string) error { return os.WriteFile(name, []byte("mine"), 0o600) },
		"two names": func(name string) error {
			return errors.Join(os.WriteFile(name, bytes.Repeat([]byte{'x'}, reserveSize), 0o600), os.Link(name, name+".too"))
		},
		"a symbolic link": func(name string) error {
			return errors.Join(os.WriteFile(name+".to", bytes.Repeat([]byte{'x'}, reserveSize), 0o600), os.Symlink(name+".to", name))
		},
		"a folder": func(name string) error { return os.Mkdir(name, 0o700) },
		"a pipe":   func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"read-only": func(name string) error {
			if err := os.WriteFile(name, bytes.Repeat([]byte{'x'}, reserveSize), 0o600); err != nil {
				return err
			}
			return errors.Join(unix.Mount(name, name, "", unix.MS_BIND, ""), unix.Mount("", name, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := smallDisk(t, "60m")
			f := newFixtureIn(t, dir)
			path := f.Path() + "-reserve"
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(path, 0) })
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			f.add(newJob("a", "1"))
			c := f.claimOne("a", queue.Rule{})
			fills(t, dir)
			for i, full := 0, false; !full && i < 1000; i++ {
				err := f.enqueues(t.Context(), 100+i, 100_000)
				full = errors.Is(err, queue.ErrFull)
				if err != nil && !full {
					t.Fatal(err)
				}
			}
			if err := f.settle(c, 500_000); !errors.Is(err, queue.ErrFull) {
				t.Errorf("settle: got %v, want full", err)
			}
			if after, err := os.Stat(path); err != nil || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("it was touched: %+v, %v", after, err)
			}
		})
	}
}

// What SQLite calls a full disk need not be one.
func TestBoundOnPagesIsNoFullDisk(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.WriterScript(`PRAGMA max_page_count = 90`); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		err = f.enqueues(t.Context(), i, 4000)
	}
	if !errors.Is(err, queue.ErrFull) {
		t.Errorf("got %v, want full", err)
	}
	if got := reserved(t, f.Path()); got != reserveSize {
		t.Errorf("the reserve has %d bytes", got)
	}
}

func TestFreeIsWhatCanBeWritten(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "8m")
	f := newFixtureIn(t, dir)
	free, err := f.Free()
	if err != nil || free < 6<<20 || free > 8<<20 {
		t.Errorf("%d bytes free, %v", free, err)
	}
	fills(t, dir)
	if free, err := f.Free(); err != nil || free != 0 {
		t.Errorf("%d bytes free of a full disk, %v", free, err)
	}
}
