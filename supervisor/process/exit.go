package process

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit tells how a child's leader ended: by itself with a status, or by a
// signal. See wait(2).
type Exit struct {
	Code   int            // exit status, 0 to 255; 0 after a death by signal
	Signal syscall.Signal // the signal it died of; 0: it exited by itself; negative: nobody knows
	Core   bool           // the system wrote a core dump
}

// unknownSignal stands in an Exit whose status another wait of this program
// took away: it proves nothing, as a death by signal proves nothing.
const unknownSignal = syscall.Signal(-1)

// String says it as a person would: "exit status 3", "killed by SIGKILL",
// "killed by SIGSEGV (core dumped)".
func (e Exit) String() string {
	switch {
	case e.Signal == 0:
		return "exit status " + strconv.Itoa(e.Code)
	case e.Signal < 0:
		return "ended, status not known"
	}
	name := unix.SignalName(e.Signal)
	if name == "" {
		name = "signal " + strconv.Itoa(int(e.Signal))
	}
	text := "killed by " + name
	if e.Core {
		text += " (core dumped)"
	}
	return text
}
