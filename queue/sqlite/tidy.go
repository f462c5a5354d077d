package sqlite

import (
	"context"
	"time"
)

// tidyPause is how long a request that tidies up waits after an error.
const tidyPause = 250 * time.Millisecond

// finish answers one request. What it leaves behind to be tidied up, because its
// caller has gone, is served soon; where that fails, until it is of no use any more.
func (w *writer) finish(r *request, err error) {
	if r.keep != nil && err != nil {
		w.postpone(r, err)
		return
	}
	tidy := r.reply(err)
	if tidy == nil {
		return
	}
	tidy.ctx, tidy.answer = context.Background(), make(chan error, 1)
	tidy.deadline = time.Now().Add(w.q.lockWait)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, tidy) // also while closing: it is part of what was accepted
	w.nudge()
}

// postpone lets a request that tidies up be tried again after a pause, or drops it.
func (w *writer) postpone(r *request, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed != nil || !r.keep() {
		w.q.logger.Warn("jobs that were claimed for nobody wait for their leases to end", "database", w.q.path, "error", err)
		return
	}
	w.later = append(w.later, r)
	if len(w.later) == 1 {
		time.AfterFunc(tidyPause, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.recall()
			w.nudge()
		})
	}
}

// recall puts what was postponed back into the queue. The caller holds mu.
func (w *writer) recall() {
	for _, r := range w.later {
		r.stage.Store(waiting)
		r.solo, r.deadline = false, time.Now().Add(w.q.lockWait)
	}
	w.rest = append(w.rest, w.later...)
	w.later = nil
}
