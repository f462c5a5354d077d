package sqlite

import (
	"slices"
	"time"
)

// apart puts the requests of a commit that failed back before all others, each to
// be run in a transaction of its own. Their callers have waited for the lock once;
// from now on they wait once more, together.
func (w *writer) apart(batch []*request) {
	deadline := time.Now().Add(w.q.lockWait)
	var first, rest []*request
	for _, r := range batch {
		r.solo, r.deadline = true, deadline
		if r.first {
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first, w.rest = append(first, w.first...), append(rest, w.rest...)
}

// noRoom answers what is left of a commit that failed, once the disk was full for
// one of it: only the renewals are still tried.
func (w *writer) noRoom(err error) {
	w.mu.Lock()
	n := 0
	for n < len(w.rest) && w.rest[n].solo {
		n++
	}
	left := slices.Clone(w.rest[:n])
	w.rest = slices.Delete(w.rest, 0, n)
	w.mu.Unlock()
	for _, r := range left {
		w.finish(r, err)
	}
}

// inessential takes what may not be written on a full disk out of the queue. The
// caller holds mu.
func (w *writer) inessential() (away []*request) {
	part := func(list []*request) []*request {
		return slices.DeleteFunc(list, func(r *request) bool {
			if !r.essential {
				away = append(away, r)
			}
			return !r.essential
		})
	}
	w.first, w.rest = part(w.first), part(w.rest)
	return away
}

// turnAway answers those that were taken out of the queue.
func (w *writer) turnAway(away []*request, full error) {
	for _, r := range away {
		if r.begin() {
			w.finish(r, full)
		}
	}
}
