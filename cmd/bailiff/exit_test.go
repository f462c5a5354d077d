package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

func TestExitStatuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("disk on fire"), 1},
		{queue.ErrFull, 1},
		{queue.ErrUnknown, 1},
		{supervisor.ErrFailing, 1},
		{supervisor.ErrAborted, 1},
		{supervisor.ErrUnrecorded, 1},
		{queue.ErrInvalid, 2},
		{usage("no"), 2},
		{&config.Error{}, 2},
		{queue.ErrConflict, 3},
		{queue.ErrNotFound, 4},
		{queue.ErrLeaseLost, 5},
		{queue.ErrNotOurs, 6},
		{queue.ErrBusy, 7},
		{queue.ErrClosed, 7},
		{&endedError{7}, 7},
		{advise(queue.ErrConflict, "look"), 3},
	} {
		if got := exitStatus(c.err); got != c.want {
			t.Errorf("%v: exit status %d, want %d", c.err, got, c.want)
		}
		if c.err != nil {
			if got := exitStatus(fmt.Errorf("do it: %w", c.err)); got != c.want {
				t.Errorf("%v, wrapped: exit status %d, want %d", c.err, got, c.want)
			}
		}
	}
}
