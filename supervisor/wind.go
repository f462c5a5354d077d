package supervisor

import (
	"fmt"
	"time"

	"github.com/b1213022/bailiff/supervisor/config"
)

// Bounds of how long a supervisor that must end waits for trees that do not
// empty and runs that cannot be recorded: one lease, within these.
const (
	giveUpLeast = 10 * time.Second
	giveUpMost  = 30 * time.Second
)

// wind ends everything that runs and waits for it: the drain time first, then
// the ladders, then, if it comes to that, a moment for what cannot be killed.
// It answers nil when every run was recorded in its time; otherwise ErrAborted,
// ErrUnrecorded or both. What is to be done is done before it is logged.
func (s *Supervisor) wind() error {
	s.stops.reach(stageDrain)
	settings, grace := s.retireAll()
	done := make(chan struct{})
	go func() {
		s.crew.children.Wait()
		close(done)
	}()
	patience := min(max(settings.Lease.Duration, giveUpLeast), giveUpMost)
	drain := time.NewTimer(settings.Shutdown.Drain)
	defer drain.Stop()
	giveUp := time.NewTimer(settings.Shutdown.Drain + grace + patience)
	defer giveUp.Stop()
	s.crew.touched()
	if n := s.crew.runs.count(); n > 0 {
		s.log.Info("draining: nothing more is claimed", "running", n, "drain", settings.Shutdown.Drain)
	}
	abort := s.stops.abort
	for {
		select {
		case <-done:
			return s.wound(fired(s.stops.abort))
		case <-drain.C:
			n := s.crew.runs.count()
			s.stops.reach(stageStop)
			s.crew.touched()
			s.log.Info("drain time is over: stopping what runs", "running", n)
		case <-abort:
			abort = nil
			giveUp.Reset(patience)
		case <-giveUp.C:
			left := s.crew.runs.all()
			s.stops.reach(stageGiven)
			for _, r := range left {
				s.log.Error("giving up on a run: its lease will end by itself", "job", r.job.ID, "fence", r.job.Fence, "pids", r.status().Left)
			}
			select {
			case <-done:
			case <-time.After(goneWait):
			}
			return s.wound(true)
		}
	}
}

// retireAll makes every pool take no more jobs, and answers the settings in use
// and the longest grace of a handler.
func (s *Supervisor) retireAll() (settings *config.Config, grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pools {
		p.retire()
		grace = max(grace, p.handler.Grace)
	}
	for _, p := range s.retired {
		grace = max(grace, p.handler.Grace)
	}
	return s.config, grace
}

// wound is how the end went.
func (s *Supervisor) wound(aborted bool) error {
	n := s.crew.unrecorded.Load() + int64(s.crew.runs.count()) // those that still run are given up, too
	switch {
	case n > 0 && aborted:
		return fmt.Errorf("%w; %w: %d", ErrAborted, ErrUnrecorded, n)
	case n > 0:
		return fmt.Errorf("%w: %d", ErrUnrecorded, n)
	case aborted:
		return ErrAborted
	}
	return nil
}
