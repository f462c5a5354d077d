package supervisor

import (
	"errors"
	"fmt"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/supervisor/process"
)

// exchange is the talk with a lines child about one job.
type exchange struct {
	child    *lineChild
	control  control
	id       int64
	jobEnd   int64 // where the job's line ends in the outbox's count
	jobSize  int64 // bytes of that line
	evidence Evidence
	watch    *overseer
	fault    error // what the child did wrong if it does not end by itself
}

// converse hands the job over and answers with what was seen when the run has
// ended. If the child may stay, Exit of the evidence is nil; otherwise its tree
// has been killed.
func (c *lineChild) converse(job *childproto.Job, ctl control) Evidence {
	x := &exchange{
		child: c, control: ctl, id: job.ID,
		evidence: Evidence{Handler: c.handler},
		watch:    oversee(c.proc, c.handler, ctl),
	}
	defer x.watch.rest()
	x.watch.inbox, x.watch.failed, x.watch.ask = c.inbox, c.out.failed, x.ask
	c.tail.Store(process.NewTail(stderrBytes))
	ctl.atWork(c.proc.PID(), func() { c.proc.Kill() })
	line := childproto.AppendJob(nil, job)
	x.jobSize = int64(len(line))
	c.seen.sent(line)
	var err error
	if x.jobEnd, err = c.out.putJob(line); err != nil {
		x.evidence.GivenBack = "it could not be sent to its child: " + err.Error()
		x.end()
		return x.evidence
	}
	x.follow()
	if x.staying() {
		c.served++
		return x.evidence
	}
	x.end()
	return x.evidence
}

// staying reports whether the child may take another job: it answered before
// anything harsher than a request to stop was sent.
func (x *exchange) staying() bool {
	e := &x.evidence
	return e.Answer != nil && !e.Lost && !x.watch.ladder.signed && !ended(x.child.proc) && x.control.answered()
}

// end kills the tree, reads what the child had still to say and looks at what
// it had not read.
func (x *exchange) end() {
	e := &x.evidence
	rest := x.child.finish()
	exit := x.child.proc.Exit()
	e.Exit = &exit
	e.Stop = x.watch.ladder.stop(exit)
	for _, in := range rest {
		x.take(in)
	}
	if e.Answer != nil {
		x.child.served++
	}
	e.Untouched = x.early(x.child.reading())
	e.Stderr = x.child.tail.Load().Last()
}

// follow follows the run until the child has answered or ended.
func (x *exchange) follow() {
	e := &x.evidence
	for e.Answer == nil {
		switch what, in := x.watch.next(); what {
		case eventEnded:
			e.Lost = x.watch.lost
			return
		case eventSaid:
			x.take(in)
		case eventSilent:
			x.expectEnd("it closed its stdout")
		case eventFailed:
			// A child that has read its job need not read on: its answer counts.
			if !x.child.out.jobWritten() {
				x.expectEnd("it closed its stdin before it had read the job")
			}
		case eventOverdue:
			x.broken(x.fault)
		}
		e.Lost = x.watch.lost
	}
	e.Stop = x.watch.ladder.reason
}

// take reads one message; after an answer or an error nothing more counts.
func (x *exchange) take(in inbound) {
	e := &x.evidence
	if e.Answer != nil || e.ProtocolError != nil {
		return
	}
	m := in.message
	if in.err != nil {
		x.broken(in.err)
		return
	}
	x.watch.heard.beat()
	early := x.early(in.reading)
	if m.HasID && m.ID == x.id && !early {
		e.Heard = true
	}
	switch m.Type {
	case childproto.TypeReady:
		x.broken(errors.New("a second ready"))
	case childproto.TypeLog:
		x.child.log(m)
	case childproto.TypeAlive:
	case childproto.TypeProgress:
		if m.ID == x.id && !early {
			x.control.progress(m.Percent, m.Text)
		}
	default:
		switch {
		case m.ID != x.id:
			x.broken(fmt.Errorf("%s for job %d, which it does not have (its job is %d)", m.Type, m.ID, x.id))
		case early:
			x.broken(fmt.Errorf("%s for job %d before it had read that job: it is about an earlier run", m.Type, m.ID))
		default:
			x.decide(m)
		}
	}
}

// decide takes what the child says about its job: an outcome, or word of an
// effect.
func (x *exchange) decide(m childproto.Message) {
	if outcome, ok := m.Outcome(); ok {
		x.evidence.Answer = &outcome
		return
	}
	line, err := journalAnswer(m)
	if err == nil {
		x.child.seen.sent(line)
		err = x.child.out.put(line)
	}
	if err != nil {
		x.broken(err)
	}
}

// early reports whether the child said this before it can have known of the
// job: before the job was sent, or with all of its line unread. One that has
// read the beginning, where the id stands, may answer and leave the payload.
func (x *exchange) early(r reading) bool { return r.jobEnd != x.jobEnd || r.unread >= x.jobSize }

// ask asks the child to stop.
func (x *exchange) ask(word childproto.CancelReason) {
	line := childproto.AppendCancel(nil, x.id, word, x.child.handler.Grace)
	x.child.seen.sent(line)
	_ = x.child.out.put(line) // SIGTERM follows in any case
}

// broken ends the talk. What a child says after it has broken the protocol is
// not believed, so it is not asked but told. One that has not read its job has
// nothing to bring to an end: it is killed before it can begin.
func (x *exchange) broken(err error) {
	if x.evidence.ProtocolError == nil {
		x.evidence.ProtocolError = err
	}
	if x.early(x.child.reading()) {
		x.watch.ladder.abort(StopProtocol)
		return
	}
	if x.watch.ladder.begin(StopProtocol, nil) {
		x.control.stopping(StopProtocol)
	}
}

// expectEnd gives a child that closed a pipe a moment to end by itself.
func (x *exchange) expectEnd(fault string) {
	if x.fault == nil {
		x.fault = errors.New(fault)
		x.watch.expectEnd()
	}
}
