package supervisor

import (
	"slices"

	"github.com/b1213022/bailiff/supervisor/config"
)

// reserve takes at most n places for jobs about to be claimed.
func (p *pool) reserve(n int) *reservation {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &reservation{pool: p}
	if fired(p.retired) {
		return r
	}
	if p.handler.Protocol == config.Plain {
		r.places = min(n, p.plainPlacesLocked())
		p.used += r.places
		return r
	}
	r.places = min(n, len(p.idle))
	r.children = slices.Clone(p.idle[len(p.idle)-r.places:])
	p.idle = p.idle[:len(p.idle)-r.places]
	return r
}

// reservation holds places until its jobs are claimed.
type reservation struct {
	pool     *pool
	places   int
	children []*child // lines: one per place
}

// fill gives a claimed job a place.
func (r *reservation) fill(job *run) {
	r.places--
	p := r.pool
	p.mu.Lock()
	p.running++
	if p.handler.Protocol == config.Plain && p.failing.reason != "" && p.trial == nil {
		p.trial = job
	}
	p.mu.Unlock()
	if p.handler.Protocol == config.Plain {
		p.crew.children.Go(func() { p.runPlain(job) })
		return
	}
	last := len(r.children) - 1
	r.children[last].work <- job
	r.children = r.children[:last]
}

// cancel gives back the places that no job was claimed for.
func (r *reservation) cancel() {
	p := r.pool
	p.mu.Lock()
	for _, c := range r.children {
		if c.leaving {
			c.work <- nil
			continue
		}
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if p.handler.Protocol == config.Plain {
		p.release(r.places)
	}
	r.places, r.children = 0, nil
}
