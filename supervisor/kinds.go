package supervisor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// kindsEvery is how often the dispatcher looks for kinds without a handler.
const kindsEvery = 5 * time.Second

// lookForKinds finds kinds that have jobs and no handler here, warns once of
// each, and answers when to look again. A look that failed is not a look: the
// next cycle repeats it.
func (d *dispatcher) lookForKinds(ctx context.Context) (time.Duration, error) {
	if since := time.Since(d.looked); since < kindsEvery {
		return kindsEvery - since, nil
	}
	metrics, err := d.s.opt.Queue.Metrics(ctx)
	if err != nil {
		return 0, fmt.Errorf("look for kinds without a handler: %w", err)
	}
	d.looked = time.Now()
	d.s.noteUnhandled(metrics)
	return slowNet, nil
}

func (s *Supervisor) noteUnhandled(metrics queue.Metrics) {
	var fresh []UnhandledKind
	s.mu.Lock()
	s.unhandled = nil
	for kind, counts := range metrics.Kinds {
		waiting := counts.Ready + counts.Scheduled
		if waiting == 0 || s.pools[kind] != nil {
			delete(s.warned, kind)
			continue
		}
		unhandled := UnhandledKind{Kind: kind, Waiting: waiting}
		s.unhandled = append(s.unhandled, unhandled)
		if !s.warned[kind] {
			s.warned[kind] = true
			fresh = append(fresh, unhandled)
		}
	}
	slices.SortFunc(s.unhandled, func(a, b UnhandledKind) int { return strings.Compare(a.Kind, b.Kind) })
	s.mu.Unlock()
	for _, u := range fresh {
		s.log.Warn("no handler for this kind: its jobs wait and use up no attempt", "kind", u.Kind, "waiting", u.Waiting)
	}
	s.crew.touched()
}
