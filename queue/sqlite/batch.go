package sqlite

import "slices"

// One commit is about so many jobs and so much that is stored, or about one
// request that is larger. Whatever waits for the write lock, here or in another
// process, waits for no more than that.
const (
	batchWeight = 1000    // jobs
	batchBytes  = 8 << 20 // of payloads and results
)

// batch is what a commit is about.
type batch struct {
	requests      []*request
	weight, bytes int
}

// add moves requests from the head of a list, as far as there is room. Those whose
// callers have gone are dropped.
func (b *batch) add(list *[]*request) {
	n := 0
	for n < len(*list) && b.room((*list)[n]) {
		r := (*list)[n]
		n++
		if r.start() {
			b.requests = append(b.requests, r)
			b.weight += max(r.weight, 1)
			b.bytes += r.bytes
		}
	}
	*list = slices.Delete(*list, 0, n)
}

func (b *batch) room(r *request) bool {
	return len(b.requests) == 0 ||
		b.weight+max(r.weight, 1) <= batchWeight && b.bytes+r.bytes <= batchBytes
}

// take removes what the next commit is about from the queue: renewals, then the
// others in their order. A solo request is a commit of its own, and has its turn
// after renewals had theirs. On a full disk the commit is about what is essential
// alone, and what else waits by then is to be turned away: at one moment, or what
// comes between the two would be written.
func (w *writer) take(full bool) (next, away []*request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if full {
		away = w.inessential()
	}
	return w.nextBatch(), away
}

func (w *writer) nextBatch() []*request {
	one := func(list *[]*request) []*request {
		r := (*list)[0]
		*list = slices.Delete(*list, 0, 1)
		return []*request{r}
	}
	solo := func(list []*request) bool { return len(list) > 0 && list[0].solo }
	var b batch
	switch {
	case solo(w.first):
		return one(&w.first)
	case !solo(w.rest):
		b.add(&w.first)
		b.add(&w.rest)
	case len(w.first) > 0 && !w.yielded:
		b.add(&w.first)
		w.yielded = true
	default:
		w.yielded = false
		return one(&w.rest)
	}
	return b.requests
}
