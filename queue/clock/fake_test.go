package clock_test

import (
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
)

var _ queue.Clock = (*clock.Fake)(nil)

func TestFakeMovesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	c := clock.NewFake(start)
	mono, boot := c.Mono(), c.Boot()
	if !c.Now().Equal(start) || c.Mono() != mono || boot == "" {
		t.Errorf("at the start: %v, %v, %q", c.Now(), c.Mono(), boot)
	}
	c.Advance(time.Minute)
	if !c.Now().Equal(start.Add(time.Minute)) || c.Mono() != mono+time.Minute {
		t.Errorf("advanced: %v, %v", c.Now(), c.Mono())
	}
	c.StepWall(-time.Hour)
	if !c.Now().Equal(start.Add(-59*time.Minute)) || c.Mono() != mono+time.Minute {
		t.Errorf("stepped: %v, %v", c.Now(), c.Mono())
	}
	c.Reboot(time.Hour)
	if !c.Now().Equal(start.Add(time.Minute)) || c.Mono() >= mono || c.Boot() == boot {
		t.Errorf("rebooted: %v, %v, %q", c.Now(), c.Mono(), c.Boot())
	}
}
