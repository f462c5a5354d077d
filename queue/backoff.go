package queue

import (
	"fmt"
	"math"
	"time"
)

// What the zero Backoff means: the spacing of retries where neither the worker
// nor the handler says one.
const (
	DefaultBaseDelay = time.Second
	DefaultMaxDelay  = 60 * time.Second
)

// Backoff spaces the retries of a job: the delay doubles with each attempt,
// from Base up to Max. A zero Base or Max is the default; the zero Backoff
// waits 1 s, 2 s, 4 s … up to 60 s, without jitter.
type Backoff struct {
	Base   time.Duration // before the second attempt; above 0, at most Max
	Max    time.Duration // longest delay, jitter included; at most MaxDelay
	Jitter float64       // 0 to 1: the part of the delay that is left to chance, in both directions
}

// Validate answers ErrInvalid, naming the setting and its bound, for a Backoff
// that no delay can be computed from.
func (b Backoff) Validate() error {
	switch base, longest := b.bounds(); {
	case b.Base < 0:
		return fmt.Errorf("base delay %v: below 0: %w", b.Base, ErrInvalid)
	case b.Max < 0:
		return fmt.Errorf("longest delay %v: below 0: %w", b.Max, ErrInvalid)
	case longest > MaxDelay:
		return fmt.Errorf("longest delay %v: above %v: %w", longest, time.Duration(MaxDelay), ErrInvalid)
	case base > longest:
		return fmt.Errorf("base delay %v: above the longest delay %v: %w", base, longest, ErrInvalid)
	case math.IsNaN(b.Jitter) || b.Jitter < 0 || b.Jitter > 1:
		return fmt.Errorf("jitter %v: not between 0 and 1: %w", b.Jitter, ErrInvalid)
	}
	return nil
}

// bounds are Base and Max with the defaults filled in. A Base above the default
// Max stands for both, so that naming a long Base alone is no error.
func (b Backoff) bounds() (base, longest time.Duration) {
	base, longest = b.Base, b.Max
	if longest == 0 {
		longest = max(DefaultMaxDelay, base)
	}
	if base == 0 {
		base = min(DefaultBaseDelay, longest)
	}
	return base, longest
}

// Delay is how long the job waits after its attempt-th run, counted from 1:
// min(Max, Base × 2^(attempt−1)), and with Jitter any moment, all alike, from that
// much less to that much more, but never above Max. rnd answers a number in [0, 1);
// it is not called without Jitter and may then be nil. Of a valid Backoff no delay
// is negative or overflows, whatever the attempt.
func (b Backoff) Delay(attempt int, rnd func() float64) time.Duration {
	base, longest := b.bounds()
	delay := longest
	// Base × 2^n stays at or below Max exactly while Base ≤ Max / 2^n, and a
	// shift to the right cannot overflow, whatever its count.
	if n := max(attempt, 1) - 1; base <= longest>>n {
		delay = base << n
	}
	if b.Jitter == 0 {
		return delay
	}
	// The span ends at Max rather than being cut there: or half of the delays
	// would be exactly Max, and jitter is there to keep retries apart.
	least := float64(delay) * (1 - b.Jitter)
	most := min(float64(delay)*(1+b.Jitter), float64(longest))
	return min(time.Duration(least+rnd()*(most-least)), longest)
}
