package supervisor_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/process"
)

// TestLadderStop: a child was told to stop only if it could hear of it: one that
// had ended was not, nor one that exited by itself in the moment of its kill.
func TestLadderStop(t *testing.T) {
	t.Parallel()
	const sleeps, exits = "exec sleep 600", "exit 0"
	killed := process.Exit{Signal: syscall.SIGKILL}
	for _, c := range []struct {
		name, script string
		grace        time.Duration
		abort        bool
		exit         process.Exit // as it was found to have ended
		want         supervisor.Stop
	}{
		{"killed without a grace", sleeps, 0, false, killed, supervisor.StopTimeout},
		{"killed by an abort", sleeps, time.Hour, true, killed, supervisor.StopAbort},
		{"on its way out, no grace", sleeps, 0, false, process.Exit{}, ""},
		{"on its way out, abort", sleeps, time.Hour, true, process.Exit{}, ""},
		{"exits on SIGTERM", sleeps, time.Hour, false, process.Exit{}, supervisor.StopTimeout},
		{"had ended, no grace", exits, 0, false, process.Exit{}, ""},
		{"had ended, abort", exits, 0, true, process.Exit{}, ""},
		{"had died, abort", "kill -SEGV $$", 0, true, process.Exit{Signal: syscall.SIGSEGV}, ""},
	} {
		child, err := process.Start(process.Spec{Argv: []string{"/bin/sh", "-c", c.script}})
		mustNil(t, err)
		if c.script != sleeps {
			<-child.Exited()
		}
		if got := supervisor.StopOf(child, c.grace, c.abort, c.exit); got != c.want {
			t.Errorf("%s: stopped for %q, want %q", c.name, got, c.want)
		}
		child.Kill()
		<-child.Gone()
		mustNil(t, child.Close())
	}
}
