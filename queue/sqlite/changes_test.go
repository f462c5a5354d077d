package sqlite_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func TestChangesTellOfEveryCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	changes, err := f.Changes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f.add(newJob("a", "own"))
	<-changes
	// What a signal tells of can be read.
	if _, err := f.Get(t.Context(), queue.Ref{Kind: "a", Key: "own"}); err != nil {
		t.Error(err)
	}
	drain(changes)
	cmd := child(t, "enqueue-and-die", f.Path())
	if err := cmd.Run(); err == nil {
		t.Fatal("the child was not killed")
	}
	<-changes
	if _, err := f.Get(t.Context(), queue.Ref{Kind: "a", Key: "last words"}); err != nil {
		t.Error(err)
	}
	cancel()
	for range changes { // ends with its context
	}
}

// drain takes signals until none came for longer than a commit echoes.
func drain(changes <-chan struct{}) {
	for {
		select {
		case <-changes:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

// BenchmarkWake is the time from another process's call of Enqueue, started by a
// byte on its stdin, to the signal here.
func BenchmarkWake(b *testing.B) {
	f := newFixture(b)
	cmd := child(b, "enqueue-on-demand", f.Path())
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	changes, err := f.Changes(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		drain(changes)
		b.StartTimer()
		if _, err := io.WriteString(in, "go\n"); err != nil {
			b.Fatal(err)
		}
		<-changes
	}
	_ = in.Close()
}

// A slow disk syncs a commit long after the event that tells of its write: looking
// goes on until there is something new, and ends some time.
func TestLooksAfterAnEvent(t *testing.T) {
	t.Parallel()
	all := sqlite.LooksAfterEvent(-1)
	before := time.Duration(0)
	for i, at := range all {
		if step := at - before; step <= 0 || step > 30*time.Millisecond {
			t.Errorf("look %d comes %v after the one before", i, step)
		}
		before = at
	}
	if before < 2*time.Second || before > 2100*time.Millisecond || all[0] > time.Millisecond || len(all) > 100 {
		t.Errorf("%d looks from %v to %v", len(all), all[0], before)
	}
	if got := sqlite.LooksAfterEvent(4); len(got) != 5 {
		t.Errorf("%d looks, of which the fifth found something", len(got))
	}
}
