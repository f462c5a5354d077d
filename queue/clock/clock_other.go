//go:build !linux

package clock

import "time"

var started = time.Now()

// Mono counts from the start of this process: how this system's monotonic clock
// relates to another process's is not known here.
func (system) Mono() time.Duration { return time.Since(started) }

// Boot is unknown, so that nobody compares a reading with another process's.
func (system) Boot() string { return "" }
