package queuetest

import (
	"context"

	"github.com/b1213022/bailiff/queue"
)

var changesRules = rules{
	"a commit is told to everybody who watches, when it can be read": (*fixture).tellsOfCommits,
	"signals that nobody took are one":                               (*fixture).signalsAreOne,
	"a watch ends with its context":                                  (*fixture).watchEnds,
	"a watch ends with the queue":                                    (*fixture).watchEndsAtClose,
}

// watches begins a watch.
func (f *fixture) watches(ctx context.Context) <-chan struct{} {
	f.Helper()
	signal, err := f.Changes(ctx)
	if err != nil {
		f.Fatalf("changes: %v", err)
	}
	return signal
}

// awaits waits for a signal until what is to be seen can be seen; the test's own time
// limit ends it.
func (f *fixture) awaits(signal <-chan struct{}, there func() bool) {
	f.Helper()
	for !there() {
		if _, ok := <-signal; !ok {
			f.Fatal("the watch ended")
		}
	}
}

func (f *fixture) tellsOfCommits() {
	other := f.beside()
	for _, w := range []struct {
		watcher, writer *fixture
	}{{f, f}, {f, other}, {other, f}} {
		signal := w.watcher.watches(f.Context())
		for _, write := range []func(){
			func() { w.writer.add("a", numbered(len(f.everything()))) },
			func() { w.writer.settles(w.writer.claim("a", rule), queue.Outcome{Is: queue.RunDone}) },
		} {
			before := w.watcher.metrics().Counts
			write()
			f.awaits(signal, func() bool { return w.watcher.metrics().Counts != before })
			// It was seen already perhaps; told it must be all the same.
			write()
			if _, ok := <-signal; !ok {
				f.Fatal("the watch ended")
			}
		}
	}
}

func (f *fixture) signalsAreOne() {
	signal := f.watches(f.Context())
	for i := range 5 {
		f.add("a", numbered(i))
	}
	<-signal
	f.awaits(signal, func() bool { return f.metrics().Ready == 5 })
}

// drained waits for a channel to be closed.
func drained(signal <-chan struct{}) {
	for range signal {
	}
}

func (f *fixture) watchEnds() {
	ctx, cancel := context.WithCancel(f.Context())
	signal := f.watches(ctx)
	other := f.watches(f.Context())
	cancel()
	drained(signal)
	f.add("a", "1")
	<-other
}

func (f *fixture) watchEndsAtClose() {
	other := f.beside()
	theirs := other.watches(f.Context())
	signal := f.watches(f.Context())
	if err := f.Close(); err != nil {
		f.Fatal(err)
	}
	drained(signal)
	other.add("a", "1")
	<-theirs
}
