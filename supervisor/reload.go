package supervisor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/b1213022/bailiff/supervisor/config"
)

// reloads reads the configuration again whenever Reload asks, until ctx ends.
func (s *Supervisor) reloads(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.again:
		}
		if s.opt.Load == nil || fired(s.stops.drain) {
			continue
		}
		fresh, err := s.opt.Load()
		if err != nil {
			s.refuse(err)
			continue
		}
		s.reload(fresh)
	}
}

// refuse keeps the configuration in use and says why.
func (s *Supervisor) refuse(err error) {
	s.mu.Lock()
	repeated := s.reloadError == err.Error()
	s.reloadError = err.Error()
	loadedAt := s.loadedAt
	s.mu.Unlock()
	if !repeated {
		// A warning: nothing is harmed, and half-saved files are everyday.
		s.log.Warn("configuration not reloaded: nothing changed", "in_use_since", loadedAt.Format(time.RFC3339), "error", err)
	}
	s.crew.touched()
}

// reload puts a configuration to use and tells what that changed.
func (s *Supervisor) reload(fresh *config.Config) {
	before := s.settings()
	added, changed, removed := s.apply(fresh)
	slices.Sort(added)
	slices.Sort(changed)
	slices.Sort(removed)
	s.log.Info("configuration reloaded", "added", added, "changed", changed, "removed", removed, "settings", fresh.Changes(before))
}

// apply puts a configuration to use as a whole and answers the kinds whose
// handlers are new, other than before, and gone. Pools whose handler is the
// same are left alone; of the others the old pool takes no more jobs, while
// its running ones end under the settings they began with.
func (s *Supervisor) apply(fresh *config.Config) (added, changed, removed []string) {
	s.mu.Lock()
	s.config = fresh
	s.loadedAt = s.opt.Clock.Now()
	s.reloadError = ""
	streaks := make(map[string]*streak) // of the changed kinds
	for kind, old := range s.pools {
		h, stays := fresh.Handlers[kind]
		switch {
		case stays && old.handler.Equal(h):
			old.mu.Lock()
			old.failing.kick()
			old.mu.Unlock()
			continue
		case stays:
			changed = append(changed, kind)
			streaks[kind] = old.streak
		default:
			removed = append(removed, kind)
		}
		old.retire()
		if old.taken() > 0 {
			s.retired = append(s.retired, old)
		}
		delete(s.pools, kind)
	}
	for kind, h := range fresh.Handlers {
		if s.pools[kind] != nil {
			continue
		}
		if !slices.Contains(changed, kind) {
			added = append(added, kind)
		}
		var older []*pool
		for _, p := range s.retired {
			if p.handler.Kind == kind {
				older = append(older, p)
			}
		}
		s.pools[kind] = newPool(s.crew, h, cmp.Or(streaks[kind], &streak{}), older)
		delete(s.warned, kind)
	}
	if fired(s.stops.drain) {
		// The end has begun beside us and has retired the pools it saw.
		for _, kind := range slices.Concat(added, changed) {
			s.pools[kind].retire()
			delete(s.pools, kind)
		}
	}
	s.mu.Unlock()
	s.crew.wake()
	s.crew.touched()
	return added, changed, removed
}

// drop forgets a retired pool whose slots are all free.
func (s *Supervisor) drop(p *pool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = slices.DeleteFunc(s.retired, func(o *pool) bool { return o == p })
}
