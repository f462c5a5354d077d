package supervisor

import "github.com/hashicorp/go-hclog"

// control is how a run is reached from outside while its child works, and how
// it tells what it sees. A nil channel never fires.
type control struct {
	lost      <-chan struct{} // the lease: kill at once, without a ladder
	cancelled <-chan struct{} // somebody wants the job cancelled
	stop      <-chan struct{} // the service wants to end: run the ladder
	abort     <-chan struct{} // the service ends now: kill at once

	// atWork is called as soon as a process can begin to work on the job. kill
	// never blocks.
	atWork func(pid int, kill func())
	// answered is called when a lines child has answered and may stay: from
	// then on the lease must not kill it, for it may have another job. False:
	// too late, the lease is lost and the kill under way.
	answered func() bool
	progress func(percent *float64, message string)
	stopping func(Stop) // the child is being stopped

	seen transcript
	log  hclog.Logger
}

// transcript is told what crosses between bailiff and a child. Lines are valid
// during the call only; calls come from several goroutines.
type transcript interface {
	sent(line []byte)              // to stdin
	received(line []byte)          // a message, on stdout
	printed(line []byte, cut bool) // something else, on stdout
	stderr(line []byte, cut bool)
}
