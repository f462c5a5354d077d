package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// lockWait is how long a caller waits for a database that another process
	// holds, before it is told queue.ErrBusy, unless Options say otherwise.
	lockWait = 5 * time.Second
	// lockStep is how often the lock is tried. SQLite's own waiting backs off to
	// 100 ms between tries and loses to a process that writes in a loop.
	lockStep = time.Millisecond
	// courtesy is how long a writer leaves the lock free after a transaction
	// while other processes write too: two of their steps. Who takes it again at
	// once is the only one that ever gets it.
	courtesy = 2 * lockStep
	// contention is how long another's write makes a writer courteous.
	contention = time.Second
)

// turns is what a writer knows of those in other processes.
type turns struct {
	freed   time.Time     // end of its own last transaction
	pause   time.Duration // to be made after that one, whether others were seen or not
	version int64         // of the data, which the commits of others change
	others  time.Time     // when it last saw that others write
}

// lock begins an immediate transaction, on the files that were opened and a schema
// that this program knows. After each try that failed it asks whether to go on.
func (w *writer) lock(goOn func(error) bool) bool {
	began := time.Now()
	pause := w.turns.pause
	if began.Sub(w.turns.others) < contention {
		pause = courtesy
	}
	if wait := pause - began.Sub(w.turns.freed); wait > 0 && !w.urgent() {
		<-time.After(wait)
	}
	for {
		err := w.c.script(`BEGIN IMMEDIATE`)
		if err == nil {
			w.seeOthers()
			return w.inPlace() && w.knowsSchema()
		}
		if syncFailed(err) {
			w.fail("the disk did not confirm a write", err)
		}
		if w.giveUp() || !busy(err) && !w.inPlace() || !goOn(err) {
			return false
		}
		w.turns.others = time.Now()
		wait := lockStep
		if w.turn.taken() {
			wait = stepAfter(w.turns.others.Sub(began), w.q.lockWait)
		}
		<-time.After(wait)
	}
}

// pauseAfter is how long the lock is left free after a transaction that held it for
// a while, even if no other process was seen: one that never got the lock cannot
// be seen. It is a tenth of the time at most, and nothing where a lease depended
// on the transaction.
func pauseAfter(held time.Duration, renewals bool) time.Duration {
	if renewals || held < 5*lockStep {
		return 0
	}
	return min(held/10, courtesy)
}

// stepAfter is the pause of a command after a try, by how long it waited for the
// lock; a service asks each lockStep. The first tries come close together, since
// most transactions are short. A crowd that goes on like that has no processor left
// for the one that holds the lock; so who has come lately, by the measure of what it
// is willing to wait, asks less often than who will soon give up.
func stepAfter(waited, atMost time.Duration) time.Duration {
	switch {
	case waited < 20*lockStep:
		return lockStep
	case waited < atMost/4:
		return 6*lockStep + rand.N(8*lockStep)
	case waited < atMost/2:
		return 2*lockStep + rand.N(3*lockStep)
	}
	return lockStep
}

// urgent reports whether a renewal waits: a lease may depend on it.
func (w *writer) urgent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.first) > 0
}

// seeOthers notes whether another connection wrote since the last transaction.
func (w *writer) seeOthers() {
	version, err := w.c.number(context.Background(), `PRAGMA data_version`)
	if err == nil && version != w.turns.version { // an error comes again with the next statement
		w.turns.version, w.turns.others = version, time.Now()
	}
}

// knowsSchema reports whether the schema is still the one that this program works
// with. Where a newer program has changed it, the queue is closed.
func (w *writer) knowsSchema() bool {
	version, err := schemaVersion(w.c)
	if !errors.Is(err, errNewer) {
		return true // another error comes again with the next statement
	}
	w.rollback()
	w.fail(fmt.Sprintf("a newer bailiff brought the schema to version %d: start this one anew", version), err)
	return false
}

// impatient answers those who waited too long for the lock, or all when it is
// not a matter of waiting, and says whether anybody is left.
func (w *writer) impatient(err error) bool {
	now := time.Now()
	w.mu.Lock()
	var tired []*request
	part := func(list []*request) []*request {
		return slices.DeleteFunc(list, func(r *request) bool {
			if busy(err) && now.Before(r.deadline) && (r.solo || r.ctx.Err() == nil) {
				return false
			}
			tired = append(tired, r)
			return true
		})
	}
	w.first, w.rest = part(w.first), part(w.rest)
	more := len(w.first)+len(w.rest) > 0
	w.mu.Unlock()
	for _, r := range tired {
		if r.begin() {
			w.finish(r, err)
		}
	}
	return more
}
