package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// moments are the states in which a database stood, one after each commit, as a
// disk that loses nothing shows them.
type moments struct {
	content []string // digest of each
	begun   []int    // the record at which its sync began
	words   []word   // all that were given
	told    []int    // the record of each word
}

// observe plays a recording through and looks at the database whenever a sync
// begins: a commit is synced before the next begins. At some of these moments the
// words that were given before the next must stand.
func observe(t *testing.T, r *recorded) *moments {
	t.Helper()
	m, d := &moments{}, r.disk()
	place := newPlace(t, r.name)
	look := func(i int) {
		place.lay(t, d.now(), nil)
		c, err := openRaw(place.path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := c.content()
		c.close()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(m.content); n == 0 || m.content[n-1] != content {
			m.content, m.begun = append(m.content, content), append(m.begun, i)
		}
	}
	look(-1)
	book := ledger{}
	for i, o := range r.ops {
		d.do(o)
		switch {
		case o.kind == opWord:
			var w word
			if err := json.Unmarshal(o.data, &w); err != nil {
				t.Fatal(err)
			}
			m.words, m.told = append(m.words, w), append(m.told, i)
			book.add(w)
		case o.kind == opSyncing && o.inode != r.folder:
			look(i)
			if len(m.content)%16 == 0 || i >= len(r.ops)-4 {
				place.keeps(t, book)
			}
		}
	}
	look(len(r.ops))
	place.keeps(t, book)
	return m
}

// place is a folder in which a database is laid as a disk left it.
type place struct{ dir, path string }

func newPlace(t *testing.T, name string) *place {
	dir := memoryFolder(t)
	return &place{dir, filepath.Join(dir, name)}
}

// noise is what stands where nobody wrote.
var noise = func() []byte {
	b := make([]byte, 33<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}()

// lay puts the files there and takes away those of before. What stands in the shared
// memory outlives nothing, so it is left out or made of garbage.
func (p *place) lay(t *testing.T, files map[string][]byte, garbage *rand.Rand) {
	t.Helper()
	for _, side := range []string{"", "-wal", "-shm", "-journal"} {
		_ = os.Remove(p.path + side)
	}
	if garbage != nil && garbage.IntN(2) == 0 {
		files[filepath.Base(p.path)+"-shm"] = noise[garbage.IntN(sector):][:32<<10]
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(p.dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// keeps fails the test if the database does not keep what is in the book.
func (p *place) keeps(t *testing.T, book ledger) {
	t.Helper()
	q, err := sqlite.Open(t.Context(), p.path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range book.broken(t.Context(), q) {
		t.Error(found)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// cut is one failure of the power: what the disk held, and which of the moments
// that may be.
type cut struct {
	at          int // the record before it
	files       map[string][]byte
	least, most int
	garbage     *rand.Rand
}

// fails lets the power fail n times in a recording, on a disk that is as it was
// before, and calls check from several goroutines.
func (r *recorded) fails(m *moments, d *disk, n int, seed uint64, check func(worker int, c cut)) {
	chance := rand.New(rand.NewPCG(seed, 1))
	when := map[int]int{} // how often after each record
	for range n {
		when[chance.IntN(len(r.ops))]++
	}
	work := make(chan cut)
	var workers sync.WaitGroup
	for i := range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range work {
				check(i, c)
			}
		})
	}
	// A commit stands for good once the log is synced and has a name; and whatever
	// stood when a word was given.
	least, synced := 0, 0
	began := map[int64]int{}
	latest := 0        // the last moment whose sync has begun
	honest := r.disk() // what the program may count on
	for i, o := range r.ops {
		d.do(o)
		honest.do(o)
		for latest+1 < len(m.begun) && m.begun[latest+1] <= i {
			latest++
		}
		switch {
		case o.kind == opSyncing:
			began[o.a] = latest
		case o.kind == opSynced && o.inode != r.folder:
			synced = max(synced, began[o.a])
		case o.kind == opWord:
			least = max(least, synced)
		}
		if honest.named() {
			least = max(least, synced)
		}
		for range when[i] {
			work <- cut{
				at: i, files: d.afterPowerLoss(chance), least: least, most: min(latest+1, len(m.content)-1),
				garbage: rand.New(rand.NewPCG(chance.Uint64(), 2)),
			}
		}
	}
	close(work)
	workers.Wait()
}

// survives opens what the disk held after a cut, and answers which moment it is and
// what is wrong with it.
func survives(t *testing.T, p *place, c cut, m *moments) (moment int, err error) {
	p.lay(t, c.files, c.garbage)
	q, err := sqlite.Open(context.Background(), p.path, sqlite.Options{})
	if err != nil {
		return -1, err
	}
	defer func() { _ = q.Close() }()
	beside, err := openRaw(p.path)
	if err != nil {
		return -1, err
	}
	defer beside.close()
	if found := beside.faults(); len(found) > 0 {
		return -1, fmt.Errorf("%s", strings.Join(found, "\n"))
	}
	content, err := beside.content()
	if err != nil {
		return -1, err
	}
	// It may stand at several moments alike.
	moment = -1
	for i, want := range m.content {
		if want == content && (moment < c.least || i <= c.most) {
			moment = i
		}
	}
	switch {
	case moment < 0:
		return moment, fmt.Errorf("it is as no commit left it")
	case moment < c.least || moment > c.most:
		return moment, fmt.Errorf("it is as commit %d left it, not one of %d to %d", moment, c.least, c.most)
	}
	// And it goes on, with an id that nobody was given before.
	highest := int64(0)
	for i, w := range m.words {
		if m.told[i] <= c.at {
			highest = max(highest, w.ID)
		}
	}
	e, err := q.Enqueue(context.Background(), queue.NewJob{Kind: "after", Key: "the power came back", Payload: []byte(`{}`)})
	if err == nil && (!e.Created || e.Job.ID <= highest) {
		err = fmt.Errorf("the next job is %d, and %d was given before", e.Job.ID, highest)
	}
	return moment, err
}
