// Package clock reads the machine's clocks for an engine and a supervisor, and
// holds the clock that tests own.
package clock

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

// System is the machine's clock. Mono and Boot are described in queue.Clock;
// where the machine does not tell them so that all processes agree, Boot is empty,
// so that no other process trusts the reading of Mono.
func System() queue.Clock { return system{} }

type system struct{}

func (system) Now() time.Time { return time.Now() }
