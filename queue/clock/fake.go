package clock

import (
	"fmt"
	"sync"
	"time"
)

// Fake is a clock that moves only when told. The zero value is not useful; call
// NewFake. Safe for use by several goroutines.
type Fake struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
	boot int
}

// NewFake returns a clock that stands at start on the wall and one hour after
// its first boot.
func NewFake(start time.Time) *Fake {
	return &Fake{wall: start, mono: time.Hour, boot: 1}
}

// Now is the wall clock.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wall
}

// Mono is the monotonic clock.
func (f *Fake) Mono() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mono
}

// Boot names the present boot.
func (f *Fake) Boot() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("boot-%d", f.boot)
}

// Advance moves both clocks forward, as time does.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wall = f.wall.Add(d)
	f.mono += d
}

// StepWall sets the wall clock forward or back without any time passing.
func (f *Fake) StepWall(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wall = f.wall.Add(d)
}

// Reboot starts the machine again: another boot, a monotonic clock that has
// counted one second, and a wall clock that went on for down.
func (f *Fake) Reboot(down time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boot++
	f.mono = time.Second
	f.wall = f.wall.Add(down)
}
