package proof

import (
	"flag"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/b1213022/bailiff/queue/sqlite"
)

var cuts = flag.Int("cuts", 2000, "how often the power fails in TestPowerLoss")

// workloads are those that the power fails in. Each begins with what the one before
// left on the disk.
var workloads = []workload{
	{seed: 1, processes: 1, rounds: 3, steps: 40, large: 8 << 10},
	{seed: 2, processes: 2, rounds: 2, steps: 40, large: 8 << 10},
	{seed: 3, processes: 1, rounds: 3, steps: 40, large: 8 << 10, failing: 9},
	{seed: 4, processes: 1, rounds: 2, steps: 60, large: 2 << 10},
	{seed: 5, processes: 3, rounds: 3, steps: 15, large: 8 << 10},
	{seed: 6, processes: 1, rounds: 3, steps: 40, large: 8 << 10, failing: 14},
	{seed: 7, processes: 1, rounds: 4, steps: 30, large: 8 << 10},
	{seed: 8, processes: 1, rounds: 1, steps: 40, large: 700 << 10}, // the engine copies the log itself
}

// The power fails at any moment. What the disk kept is the database as one of its
// commits left it, whole, and not before any that was told of.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	path := newDatabase(t)
	tried, total := 0, 0
	for ; total < *cuts && !t.Failed(); tried++ {
		w := workloads[tried%len(workloads)]
		if tried%len(workloads) == 0 {
			path = newDatabase(t)
		}
		w.seed += uint64(tried * 100)
		n := min(*cuts/len(workloads)+1, 400, *cuts-total)
		total += n
		r := record(t, path, w)
		powerFails(t, w, r, n)
		r.leaveAfterPowerLoss(t, path, w.seed)
	}
	t.Logf("%d cuts in %d workloads", total, tried)
}

// powerFails lets the power fail n times in a workload.
func powerFails(t *testing.T, w workload, r *recorded, n int) {
	t.Helper()
	m := observe(t, r)
	var lost atomic.Int64 // cuts after which the last commit was not there
	places := newPlaces(t, r.name)
	r.fails(m, r.disk(), n, w.seed, func(worker int, c cut) {
		moment, err := survives(t, places[worker], c, m)
		if err != nil {
			t.Errorf("workload %+v: the power failed after record %d of %d: %v", w, c.at, len(r.ops), err)
		}
		if moment < c.most {
			lost.Add(1)
		}
	})
	t.Logf("workload %+v: %d records, %d commits, %d words, %d cuts, %d of them without the commit under way",
		w, len(r.ops), len(m.content)-1, len(m.words), n, lost.Load())
}

// newDatabase is one in a folder of its own.
func newDatabase(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(memoryFolder(t), "q.db")
	if err := sqlite.Create(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func newPlaces(t *testing.T, name string) []*place {
	t.Helper()
	all := make([]*place, runtime.GOMAXPROCS(0))
	for i := range all {
		all[i] = newPlace(t, name)
	}
	return all
}

// leaveAfterPowerLoss lets the power fail somewhere in the recording and leaves the
// database at path as the disk has it then, for the next workload.
func (r *recorded) leaveAfterPowerLoss(t *testing.T, path string, seed uint64) {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 3))
	d := r.disk()
	for _, o := range r.ops[:len(r.ops)/2+chance.IntN(len(r.ops)/2)] {
		d.do(o)
	}
	p := &place{filepath.Dir(path), path}
	p.lay(t, d.afterPowerLoss(chance), nil)
	// The log is copied, so that one file is all there is.
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}

// The proof can fail: on a disk that does not honour syncs, it finds what is lost.
func TestPowerLossIsFound(t *testing.T) {
	t.Parallel()
	path := newDatabase(t)
	r := record(t, path, workload{seed: 11, processes: 1, rounds: 2, steps: 50, large: 8 << 10})
	m := observe(t, r)
	for what, ignore := range map[string]func(string) bool{
		"no sync of the log":      func(name string) bool { return strings.HasSuffix(name, "-wal") },
		"no sync of the database": func(name string) bool { return name == r.name },
		"no sync of the folder":   func(name string) bool { return name == "" },
	} {
		d := r.disk()
		d.ignore = ignore
		var found atomic.Int64
		places := newPlaces(t, r.name)
		r.fails(m, d, 60, 5, func(worker int, c cut) {
			if _, err := survives(t, places[worker], c, m); err != nil {
				found.Add(1)
			}
		})
		t.Logf("%s: found after %d of 60 cuts", what, found.Load())
		if found.Load() == 0 {
			t.Errorf("%s: nothing was found to be lost", what)
		}
	}
}
