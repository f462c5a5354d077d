package supervisor

import (
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// LastFailure is the run of a handler that failed last.
type LastFailure struct {
	Job    int64     `json:"job"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"` // in words; empty if the handler gave none
}

// streak counts the runs of a kind that failed in a row: a handler whose every
// run fails starts well and is sick all the same. The pools of a kind share it,
// so that a reload does not hide it. Safe for use by several goroutines.
type streak struct {
	mu     sync.Mutex
	failed int
	last   LastFailure // if failed is not 0
}

// settled takes a recorded run into account. One that was snoozed, that was
// never given or that was stopped through no fault of its own says nothing.
func (s *streak) settled(r *run, v Verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch is := v.Outcome.Is; {
	case is == queue.RunDone:
		s.failed = 0
	case is == queue.RunSnooze, v.Outcome.NotGiven, v.Outcome.CutShort, fired(r.lease.cancelled):
	default:
		s.failed++
		s.last = LastFailure{Job: r.job.ID, At: r.pool.crew.clock.Now(), Reason: visible(v.Reason)}
	}
}

// show puts the streak into a status.
func (s *streak) show(st *HandlerStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed > 0 {
		last := s.last
		st.FailedInARow, st.LastFailure = s.failed, &last
	}
}
