package upkeep

import (
	"errors"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// When a job's time is over is read from the wall clock, and what is forgotten then
// cannot be had back. So a wall clock that has gone ahead of the monotonic one by much
// is not believed at once: it was set, rightly or not, or the machine slept.
const (
	aheadMost = 24 * time.Hour
	aheadRest = time.Hour // of the monotonic clock: for somebody to notice, or for the clock to be set right
)

// errAhead: nothing is forgotten because the wall clock went ahead.
var errAhead = errors.New("the wall clock went ahead by more than a day: nothing is forgotten for an hour")

// pace is how the wall clock goes beside the monotonic one.
type pace struct {
	clock queue.Clock
	wall  time.Time
	mono  time.Duration
	until time.Duration // of the monotonic clock: the wall clock is not believed before
}

func newPace(clock queue.Clock) *pace {
	return &pace{clock: clock, wall: wallOf(clock), mono: clock.Mono()}
}

// wallOf is the wall clock without the monotonic reading that Go's times may carry.
func wallOf(clock queue.Clock) time.Time { return clock.Now().Round(0) }

// look reports by how much the wall clock went ahead since the look before, 0 if it is
// not much, and whether it is to be believed now.
func (p *pace) look() (ahead time.Duration, believed bool) {
	wall, mono := wallOf(p.clock), p.clock.Mono()
	lead := wall.Sub(p.wall) - (mono - p.mono)
	p.wall, p.mono = wall, mono
	if lead > aheadMost {
		ahead, p.until = lead, mono+aheadRest
	}
	return ahead, mono >= p.until
}
