package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// surroundings are what tells why a job stands still: the service that serves its
// queue, the handlers there are, and which kinds are paused.
type surroundings struct {
	served   bool                                // a service serves this queue
	unseen   bool                                // whether one does cannot be told
	handlers map[string]supervisor.HandlerStatus // of the service, else of the configuration
	known    bool                                // handlers says something
	running  map[int64]supervisor.RunStatus
	paused   map[string]bool
	command  func(format string, args ...any) string
}

func (a *app) surroundings(ctx context.Context, q *sqlite.Queue) surroundings {
	s := surroundings{
		handlers: map[string]supervisor.HandlerStatus{}, running: map[int64]supervisor.RunStatus{},
		paused: pausedKinds(ctx, q), command: a.command,
	}
	service, err := a.service()
	s.unseen = err != nil
	if service != nil && service.Database == inJSON(q.Path()) {
		s.served, s.known = true, true
		for _, h := range service.Handlers {
			s.handlers[h.Kind] = h
		}
		for _, r := range service.Running {
			s.running[r.ID] = r
		}
	} else if cfg := a.mayConfig(); cfg != nil {
		s.known = true
		for kind := range cfg.Handlers {
			s.handlers[kind] = supervisor.HandlerStatus{Kind: kind}
		}
	}
	return s
}

// why says why a job stands still, as far as that is known; else it is empty.
func (s *surroundings) why(j *queue.Job) string {
	if j.State == queue.StateLeased {
		return s.whyLeased(j)
	}
	h, handled := s.handlers[j.Kind]
	switch {
	case s.paused[j.Kind]:
		return "its kind is paused: " + s.command("resume %s", j.Kind)
	case s.known && !handled:
		why := fmt.Sprintf("no handler is called %q", j.Kind)
		if near := config.Nearest(j.Kind, slices.Collect(maps.Keys(s.handlers))); near != "" {
			why += fmt.Sprintf(" (did you mean %q?)", near)
		}
		return why
	case !s.served && !s.unseen:
		return "no service runs here: " + s.command("run") + " starts it"
	case h.Failing != "":
		return "its handler does not start: " + h.Failing
	case h.Slots > 0 && h.Running >= h.Slots:
		return fmt.Sprintf("all of its handler's slots are busy (%d)", h.Slots)
	}
	return ""
}

// whyLeased says how a run stands that takes long.
func (s *surroundings) whyLeased(j *queue.Job) string {
	now := now()
	if over := now.Sub(j.LeaseExpiresAt); over > 0 {
		why := fmt.Sprintf("its lease ended %s ago and nobody has expired it", span(over))
		if !s.served && !s.unseen {
			why += ": no service runs here"
		}
		return why
	}
	r, ok := s.running[j.ID]
	if !ok || r.Fence != j.Fence {
		return fmt.Sprintf("held by %s", j.Worker)
	}
	why := "still running"
	if r.PID != 0 {
		why += fmt.Sprintf(", pid %d", r.PID)
	}
	if !r.ProgressAt.IsZero() {
		why += ", last progress " + relative(now, r.ProgressAt)
	}
	if !r.TimeoutAt.IsZero() {
		why += ", timeout " + relative(now, r.TimeoutAt)
	}
	if r.Stopping != "" {
		why += ", being stopped: " + r.Stopping
	}
	return why
}

// stuckJSON is a job as list --stuck --json shows it.
type stuckJSON struct {
	Listed listedJSON `json:",embed"`
	Why    *string    `json:"why"` // null where it is not known
}
