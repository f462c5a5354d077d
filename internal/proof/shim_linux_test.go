package proof

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the shim counts and can let fail; see testdata/shim.c.
const (
	callOpen = 1 << iota
	callWrite
	callTruncate
	callSync
	callUnlink
	callRead
	callMap
	callSyncFolder
)

// shim compiles the shim, once for all tests.
var shim = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "bailiff-shim-")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { _ = os.RemoveAll(dir) })
	cc, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return "", fmt.Errorf("go env CC: %w", err)
	}
	words := append(strings.Fields(string(cc)), "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
		"-o", filepath.Join(dir, "shim.so"), filepath.Join("testdata", "shim.c"), "-ldl")
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, out)
	}
	return filepath.Join(dir, "shim.so"), nil
})

// control is the page by which a process tells the shim what to do.
type control struct {
	kinds, left, error, sticky, part, hits, calls int64
}

// How much of a write is done before it fails.
const (
	noneOfIt = iota
	halfOfIt
	allOfIt
)

// fault is a call that is to fail.
type fault struct {
	kinds  int // of calls that count
	errno  syscall.Errno
	sticky bool  // all of them fail from there on
	part   int64 // of a write that is done first: noneOfIt, halfOfIt, allOfIt
}

func (f fault) String() string {
	var words []string
	for i, name := range []string{"open", "write", "truncate", "sync", "unlink", "read", "map", "sync of the folder"} {
		if f.kinds&(1<<i) != 0 {
			words = append(words, name)
		}
	}
	s := fmt.Sprintf("%s %v", strings.Join(words, "+"), unix.ErrnoName(f.errno))
	if f.sticky {
		s += " from then on"
	}
	return s + []string{"", ", half done", ", but done"}[f.part]
}

// arm lets the n-th call from now fail; 0 only counts.
func (c *control) arm(f fault, n int64) {
	atomic.StoreInt64(&c.kinds, 0)
	atomic.StoreInt64(&c.hits, 0)
	atomic.StoreInt64(&c.calls, 0)
	atomic.StoreInt64(&c.error, int64(f.errno))
	atomic.StoreInt64(&c.part, f.part)
	sticky := int64(0)
	if f.sticky {
		sticky = 1
	}
	atomic.StoreInt64(&c.sticky, sticky)
	atomic.StoreInt64(&c.left, n)
	atomic.StoreInt64(&c.kinds, int64(f.kinds))
}

func (c *control) disarm() { atomic.StoreInt64(&c.kinds, 0) }

// faults is how many calls have failed since arm.
func (c *control) faults() int64 { return atomic.LoadInt64(&c.hits) }

// openControl maps the page that the shim of this process obeys.
func openControl() (*control, error) {
	f, err := os.OpenFile(os.Getenv("PROOF_CONTROL"), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	page, err := unix.Mmap(int(f.Fd()), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*control)(unsafe.Pointer(&page[0])), nil
}

// shimmed is a child with the shim in it, which sees the files below folder and
// appends what happens to them to trace, unless that is empty.
func shimmed(t testing.TB, folder, trace, part string, args ...any) *exec.Cmd {
	t.Helper()
	lib, err := shim()
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "control")
	if err := os.WriteFile(page, make([]byte, os.Getpagesize()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, part, args...)
	cmd.Env = append(cmd.Env, "LD_PRELOAD="+lib, "PROOF_FOLDER="+folder, "PROOF_CONTROL="+page, "PROOF_TRACE="+trace)
	return cmd
}
