package proof

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// workload is what is done to a database while the shim looks on.
type workload struct {
	seed      uint64
	processes int
	rounds    int // how often each opens and closes it
	steps     int // of each of its three players, in a round
	large     int // bytes
	failing   int // this sync of a round fails, and in every other workload all that follow; 0: none
}

func init() {
	parts["workload"] = func(ctx context.Context, args []string) error {
		var w workload
		numbers := []*int{&w.rounds, &w.steps, &w.large, &w.failing}
		for i, n := range numbers {
			*n, _ = strconv.Atoi(args[3+i])
		}
		w.seed, _ = strconv.ParseUint(args[2], 10, 64)
		teller, err := openTeller(args[1])
		if err != nil {
			return err
		}
		c, err := openControl()
		if err != nil {
			return err
		}
		for round := range w.rounds {
			if err := w.round(ctx, args[0], round, teller, c); err != nil {
				return err
			}
		}
		return nil
	}
}

// round opens the database, plays and closes it again. The log is copied and cut
// far more often than the engine would, by chance.
func (w workload) round(ctx context.Context, path string, round int, t teller, c *control) error {
	q, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	beside, err := openRaw(path)
	if err != nil {
		return err
	}
	if w.failing > 0 {
		c.arm(fault{kinds: callSync, errno: syscall.EIO, sticky: w.seed%2 == 0}, int64(w.failing))
	}
	heard := make(chan struct{}, 1)
	say := func(word word) {
		t.say(word)
		select {
		case heard <- struct{}{}:
		default:
		}
	}
	var tending sync.WaitGroup
	tending.Go(func() {
		chance := rand.New(rand.NewPCG(w.seed, uint64(round)))
		for range heard {
			if w.failing == 0 && chance.IntN(6) == 0 { // a sync that fails is to be the engine's
				mode := []string{"PASSIVE", "FULL", "RESTART", "TRUNCATE"}[chance.IntN(4)]
				_ = beside.exec(`PRAGMA busy_timeout = 20; PRAGMA wal_checkpoint(` + mode + `)`)
			}
		}
	})
	var players []*player
	for i := range 3 {
		p := newPlayer(fmt.Sprintf("%d-%d-%d", os.Getpid(), round, i), w.seed<<16+uint64(round)<<8+uint64(i), say)
		p.large = w.large
		players = append(players, p)
	}
	played := play(ctx, q, players, w.steps)
	close(heard)
	tending.Wait()
	failed := c.faults() > 0
	if failed && !errors.Is(played, queue.ErrUnknown) && !errors.Is(played, queue.ErrClosed) {
		return fmt.Errorf("a sync failed and the players heard %v", played)
	}
	if !failed && played != nil {
		return played
	}
	c.disarm()
	beside.close()
	return q.Close()
}

// recorded is what a workload did.
type recorded struct {
	ops    []op
	name   string // of the database
	folder uint64
	inode  uint64
	before []byte // the database as it was
}

func (r *recorded) disk() *disk { return newDisk(r.folder, r.name, r.inode, r.before) }

// record plays a workload on a database at path, and checks that the shim saw all of
// what happened to the files.
func record(t *testing.T, path string, w workload) *recorded {
	t.Helper()
	trace := filepath.Join(memoryFolder(t), "trace")
	if err := os.WriteFile(trace, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := &recorded{name: filepath.Base(path), folder: inodeOf(t, filepath.Dir(path)), inode: inodeOf(t, path)}
	var err error
	if r.before, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := range w.processes {
		cmd := shimmed(t, filepath.Dir(path), trace, "workload", path, trace, w.seed+uint64(i)*1000, w.rounds, w.steps, w.large, w.failing)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("workload: %v", err)
			}
		})
	}
	running.Wait()
	if r.ops, err = readTrace(trace); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(trace); err != nil {
		t.Error(err)
	}
	d := r.disk()
	for _, o := range r.ops {
		d.do(o)
	}
	sameFiles(t, filepath.Dir(path), d.now())
	return r
}

// sameFiles fails the test if a folder holds something else than it is said to.
func sameFiles(t *testing.T, folder string, want map[string][]byte) {
	t.Helper()
	for name, content := range want {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(got) != string(content) {
			t.Errorf("%s: %d bytes, %v; the shim saw %d", name, len(got), err, len(content))
		}
	}
	for _, side := range []string{"-wal", "-journal"} {
		names, _ := filepath.Glob(filepath.Join(folder, "*"+side))
		for _, name := range names {
			if _, seen := want[filepath.Base(name)]; !seen {
				t.Errorf("the shim did not see %s", name)
			}
		}
	}
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ino
}
