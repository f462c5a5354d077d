package queue_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	fiveMinutes := queue.Backoff{Base: time.Second, Max: 5 * time.Minute}
	for _, c := range []struct {
		b       queue.Backoff
		attempt int
		want    time.Duration
	}{
		{queue.Backoff{}, 1, time.Second},
		{queue.Backoff{}, 2, 2 * time.Second},
		{queue.Backoff{}, 6, 32 * time.Second},
		{queue.Backoff{}, 7, time.Minute},
		{fiveMinutes, 1, time.Second},
		{fiveMinutes, 9, 256 * time.Second},
		{fiveMinutes, 10, 5 * time.Minute},
		{fiveMinutes, 31, 5 * time.Minute},
		{fiveMinutes, 32, 5 * time.Minute},
		{fiveMinutes, 62, 5 * time.Minute},
		{fiveMinutes, 63, 5 * time.Minute},
		{fiveMinutes, 64, 5 * time.Minute},
		{fiveMinutes, 200, 5 * time.Minute},
		{fiveMinutes, math.MaxInt, 5 * time.Minute},
		{fiveMinutes, 0, time.Second},
		{fiveMinutes, -7, time.Second},
		{queue.Backoff{Base: 2 * time.Minute}, 3, 2 * time.Minute},
		{queue.Backoff{Max: time.Millisecond}, 1, time.Millisecond},
		{queue.Backoff{Base: 1, Max: queue.MaxDelay}, 64, queue.MaxDelay},
		{queue.Backoff{Base: 1, Max: queue.MaxDelay}, 59, 1 << 58}, // 9.1 years
		{queue.Backoff{Base: 1, Max: queue.MaxDelay}, 60, queue.MaxDelay},
	} {
		if got := c.b.Delay(c.attempt, nil); got != c.want {
			t.Errorf("%+v after attempt %d: %v, want %v", c.b, c.attempt, got, c.want)
		}
	}
}

func TestDelayWithJitter(t *testing.T) {
	t.Parallel()
	b := queue.Backoff{Base: 100 * time.Second, Max: 150 * time.Second, Jitter: 0.2}
	for _, c := range []struct {
		attempt int
		random  float64
		want    time.Duration
	}{
		{1, 0, 80 * time.Second},
		{1, 0.5, 100 * time.Second},
		{1, 0.75, 110 * time.Second},
		// At Max the span reaches below it only, and is used evenly.
		{2, 0, 120 * time.Second},
		{2, 0.5, 135 * time.Second},
		{200, 0.5, 135 * time.Second},
	} {
		got := b.Delay(c.attempt, func() float64 { return c.random })
		if (got - c.want).Abs() > time.Microsecond {
			t.Errorf("after attempt %d with %v: %v, want %v", c.attempt, c.random, got, c.want)
		}
	}
}

func TestDelayStaysInBounds(t *testing.T) {
	t.Parallel()
	nearlyOne := math.Nextafter(1, 0)
	for _, b := range []queue.Backoff{
		{},
		{Jitter: 1},
		{Base: 1, Max: 1, Jitter: 1},
		{Base: time.Second, Max: 5 * time.Minute, Jitter: 0.1},
		{Base: queue.MaxDelay, Max: queue.MaxDelay, Jitter: 1},
		{Base: 3, Max: queue.MaxDelay, Jitter: 0.999},
	} {
		if err := b.Validate(); err != nil {
			t.Fatalf("%+v: %v", b, err)
		}
		longest := cmp.Or(b.Max, queue.DefaultMaxDelay)
		for attempt := range 300 {
			for _, random := range []float64{0, 0.5, nearlyOne} {
				got := b.Delay(attempt, func() float64 { return random })
				if got < 0 || got > longest {
					t.Errorf("%+v after attempt %d with %v: %v, out of 0 to %v", b, attempt, random, got, longest)
				}
			}
		}
	}
}

func TestValidateBackoff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		b     queue.Backoff
		valid bool
	}{
		{queue.Backoff{}, true},
		{queue.Backoff{Base: time.Hour}, true},
		{queue.Backoff{Max: time.Millisecond}, true},
		{queue.Backoff{Base: time.Second, Max: time.Second, Jitter: 1}, true},
		{queue.Backoff{Max: queue.MaxDelay}, true},
		{queue.Backoff{Max: queue.MaxDelay + 1}, false},
		{queue.Backoff{Base: queue.MaxDelay + 1}, false},
		{queue.Backoff{Base: 2 * time.Second, Max: time.Second}, false},
		{queue.Backoff{Base: -1}, false},
		{queue.Backoff{Max: -1}, false},
		{queue.Backoff{Jitter: -0.1}, false},
		{queue.Backoff{Jitter: 1.1}, false},
		{queue.Backoff{Jitter: math.NaN()}, false},
	} {
		err := c.b.Validate()
		if valid := err == nil; valid != c.valid || !valid && !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%+v: %v, want valid %v", c.b, err, c.valid)
		}
	}
}

func ExampleBackoff_Delay() {
	var b queue.Backoff
	for _, attempt := range []int{1, 2, 3, 6, 7, 200} {
		fmt.Print(b.Delay(attempt, nil), " ")
	}
	// Output: 1s 2s 4s 32s 1m0s 1m0s
}
