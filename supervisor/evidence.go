package supervisor

import (
	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/process"
	"github.com/go-json-experiment/json/jsontext"
)

// Evidence is everything that was seen of one run. Judge reads nothing else.
type Evidence struct {
	Handler *config.Handler // the settings the run was started under

	// Lost: the lease was lost, or could not be renewed before its deadline.
	Lost bool

	// GivenBack: the supervisor decided not to hand the job over; in words why.
	GivenBack string
	// StartError: no process was started.
	StartError error
	// StartedBefore: the same handler, under the same settings, was started
	// for another job, so that what differs is this job's data.
	StartedBefore bool

	// Untouched: when a lines child died, it had read no byte of the job's line,
	// and the system can tell.
	Untouched bool
	// Heard: a lines child sent a message about this job.
	Heard bool

	// ChangedInPlace names a file of the handler's that has the same identity
	// and another content than when the run started; empty if there is none.
	ChangedInPlace string

	// Answer is the outcome the handler gave: the first outcome message of a
	// lines child, or the one whole outcome in BAILIFF_OUTCOME.
	Answer *childproto.Outcome
	// AnswerError: BAILIFF_OUTCOME holds something, but no outcome.
	AnswerError error
	// ProtocolError: what a lines child did that the protocol does not allow.
	ProtocolError error

	// Exit is how the child ended; nil while it lives.
	Exit *process.Exit
	// Stop is why bailiff told the child to stop. It is empty if it did not,
	// if the child had answered before, or if it had already ended.
	Stop Stop

	// Result is plain's stdout, if that is JSON; ResultTooBig, if it would
	// have been too long to keep.
	Result       jsontext.Value
	ResultTooBig bool

	// Stderr is the last line of it.
	Stderr string
	// Printed is the last line of a plain stdout that is no result.
	Printed string
}

// Stop is why bailiff tells a child to stop.
type Stop string

// The reasons to stop a child.
const (
	StopTimeout   Stop = "timeout"
	StopLiveness  Stop = "liveness"
	StopCancelled Stop = "cancelled" // somebody cancelled the job
	StopShutdown  Stop = "shutdown"  // the drain time is over
	StopAbort     Stop = "abort"     // shutdown at once: no grace
	StopProtocol  Stop = "protocol"  // the child broke the protocol
	StopRetired   Stop = "retired"   // the child is no longer needed; it has no job
)

// ours reports whether the service's own end is the reason, so that the run
// was cut short through no fault of the job or the handler.
func (s Stop) ours() bool { return s == StopShutdown || s == StopAbort }
