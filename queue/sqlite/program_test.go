package sqlite_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/queuetest"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// programShares run side by side, each so many programs that all together are 10 000,
// and fewer where the race detector watches, which has enough to see in these.
const (
	programShares = 4
	programs      = 10_000
)

// What rapid is told on the command line still counts: flags are read later. A
// failure prints its program and its seed, so no file is needed to repeat it.
func init() {
	for name, value := range map[string]string{
		"rapid.checks":     fmt.Sprint(programs / programShares / slowdown),
		"rapid.nofailfile": "true",
	} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}

// Random programs are run by the engine and by the reference, side by side on one
// clock: every answer and, in the end, everything that can be seen of the queue is
// the same. A failure is shown as the shortest program that was found for it.
func TestEngineAnswersAsTheReference(t *testing.T) {
	t.Parallel()
	for share := range programShares {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			bench := &bench{dir: memoryDir(t)}
			rapid.Check(t, func(t *rapid.T) {
				w := bench.world(t)
				defer bench.tidy(t)
				defer w.engine.close()
				for _, s := range drawProgram(t) {
					w.run(s)
				}
				w.compareEverything()
			})
		})
	}
}

// drawProgram is about 20 steps. It is drawn in parts, of each of which any number
// can be left out, so that it gets short when a failure is narrowed down.
func drawProgram(t *rapid.T) (program []step) {
	part := rapid.SliceOfN(anyStep, 0, 30)
	for range 4 {
		program = append(program, part.Draw(t, "part")...)
	}
	return program
}

// bench is where one share makes its queues, one after another at the same place.
type bench struct {
	dir  string
	next atomic.Int64
}

// template is a database that was just made: to copy it is cheaper than to make one.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "bailiff-test-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "q.db")
	if err := sqlite.Create(context.Background(), path, sqlite.Options{Clock: clock.NewFake(start)}); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// world begins a program: a queue kept twice.
func (b *bench) world(t *rapid.T) *world {
	bytes, err := template()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, "q.db")
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, clock: clock.NewFake(start)}
	w.clock.Reboot(0) // each boot begins alike: what counts on one could pass for another's
	w.engine = &side{world: w, Store: &store{
		dir: b.dir, path: path, opt: sqlite.Options{Clock: w.clock, Random: chance()}, next: &b.next, made: w.withoutReserve,
	}}
	w.withoutReserve(path)
	w.model = &side{world: w, Store: queuetest.Model{}.New(nil, w.clock, chance())}
	w.engine.open()
	w.model.open()
	return w
}

// withoutReserve puts a file in the place of a database's reserve, which is then left
// alone: to make one would cost more than the program.
func (w *world) withoutReserve(path string) {
	if err := os.WriteFile(path+"-reserve", []byte("-"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// tidy removes the files of a program.
func (b *bench) tidy(t *rapid.T) {
	files, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Remove(filepath.Join(b.dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// chance answers the same numbers to both sides.
func chance() func() float64 {
	n := 0
	return func() float64 {
		n++
		return float64(n*37%100) / 100
	}
}

// world is a queue that is kept twice, on one clock.
type world struct {
	t             *rapid.T
	clock         *clock.Fake
	engine, model *side
	lines         []string
	rebooted      bool
}

// run takes one step on both sides.
func (w *world) run(s step) {
	e, m := &answer{}, &answer{}
	s(w.engine, e)
	s(w.model, m)
	if e.call == "" {
		return // nothing there that it could be done with
	}
	w.lines = append(w.lines, e.call)
	w.look()
	if d := difference(e, m); d != "" {
		w.fail(d)
	}
}

// look lets both see every lease of another boot: from when it is seen its time runs,
// and which calls see one on their way is an engine's own business.
func (w *world) look() {
	for _, s := range []*side{w.engine, w.model} {
		if !w.rebooted {
			return
		}
		if _, err := s.Agenda(w.t.Context(), nil); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) fail(d string) {
	w.t.Fatalf("the engine differs from the reference:\n%s\nafter\n\t%s", d, strings.Join(w.lines, "\n\t"))
}
