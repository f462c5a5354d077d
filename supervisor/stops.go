package supervisor

import (
	"slices"
	"sync"
)

// stops are the stages of an end. Each channel is closed once and stays
// closed; a later stage includes the earlier ones.
type stops struct {
	drain chan struct{} // claim nothing more, give back what is not handed over
	stop  chan struct{} // the drain time is over: run the ladders
	abort chan struct{} // kill every tree
	given chan struct{} // what lives now is given up: leave its leases to end

	mu   sync.Mutex
	next int // of the order above, the first that is open
}

func newStops() *stops {
	return &stops{
		drain: make(chan struct{}),
		stop:  make(chan struct{}),
		abort: make(chan struct{}),
		given: make(chan struct{}),
	}
}

// The stages in their order.
const (
	stageDrain = iota + 1
	stageStop
	stageAbort
	stageGiven
)

// reach enters a stage and all before it. The last one is closed first: whoever
// is woken by an earlier one can see how far the end really is.
func (s *stops) reach(stage int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range slices.Backward([]chan struct{}{s.drain, s.stop, s.abort, s.given}[min(s.next, stage):stage]) {
		close(c)
	}
	s.next = max(s.next, stage)
}

// stage names where the end is.
func (s *stops) stage() Stage {
	switch {
	case fired(s.stop):
		return StageStopping
	case fired(s.drain):
		return StageDraining
	}
	return StageRunning
}
