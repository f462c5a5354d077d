package supervisor

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// noteAgain is how long to wait between two tries to note late outcomes.
const noteAgain = time.Second

// lateNotes puts outcomes that came after their lease was lost into the history
// of their jobs. What kept them from being recorded in time, a full disk or a
// locked database, keeps them from being noted, too: they are tried until the
// service ends, and nobody waits for it meanwhile.
type lateNotes struct {
	queue Queue
	log   hclog.Logger
	wake  chan struct{} // capacity 1: there is something to note

	mu    sync.Mutex
	left  []lateNote // in their order
	ended bool       // nobody tries any more
}

type lateNote struct {
	job, fence int64
	text       string
	err        error // of the last try
}

func newLateNotes(q Queue, log hclog.Logger) *lateNotes {
	return &lateNotes{queue: q, log: log, wake: make(chan struct{}, 1)}
}

// add does not wait. What is added before the end is tried at least once.
func (n *lateNotes) add(note lateNote) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended {
		n.giveUp(note)
		return
	}
	n.left = append(n.left, note)
	signal(n.wake)
}

// work notes what was added until end is done; then each has a last try, and
// all of them together have lastWord. What is left is in the log, in its words.
func (n *lateNotes) work(end context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(end, func() { time.AfterFunc(lastWord, cancel) })()
	for left := false; ; {
		var again <-chan time.Time
		if left {
			again = time.After(noteAgain)
		}
		select {
		case <-end.Done():
			n.round(ctx)
			n.finish()
			return
		case <-n.wake:
		case <-again:
		}
		left = n.round(ctx)
	}
}

// round tries what is left, up to the first that is to be tried again: what is
// wrong with the queue is wrong for all.
func (n *lateNotes) round(ctx context.Context) (left bool) {
	for {
		n.mu.Lock()
		if len(n.left) == 0 {
			n.mu.Unlock()
			return false
		}
		note := n.left[0]
		n.mu.Unlock()
		note.err = n.queue.Note(ctx, note.job, note.fence, note.text)
		again := note.err != nil && (passing(note.err) || ctx.Err() != nil)
		n.mu.Lock()
		if again {
			n.left[0] = note
		} else {
			n.left = n.left[1:]
		}
		n.mu.Unlock()
		if again {
			return true
		}
		if note.err != nil {
			n.giveUp(note)
		}
	}
}

func (n *lateNotes) finish() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	for _, note := range n.left {
		n.giveUp(note)
	}
	n.left = nil
}

func (n *lateNotes) giveUp(note lateNote) {
	n.log.Warn("late outcome not noted", "job", note.job, "fence", note.fence, "late", visible(note.text), "error", note.err)
}
