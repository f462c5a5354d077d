package supervisor

import (
	"slices"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
)

// Verdict is what a run was.
type Verdict struct {
	Row       int           // the row of the table that fit, 1 to 6
	Outcome   queue.Outcome // what is recorded; meaningless with LeaseLost
	LeaseLost bool          // nothing is recorded: somebody else may own the job
	Failing   bool          // the handler is at fault, not the job: it restarts with backoff
	Reason    string        // in words; empty for a plain done
	Late      string        // with LeaseLost: the outcome that came too late, for history; empty if none
}

// This file holds the one decision that everything else serves: what a run
// was. The contract: Judge is pure; the first row that fits decides; nothing
// else in bailiff turns evidence into an outcome.
//
// The invariant: a run is called done, dead or retry only when its handler
// said so, and called not given only when the job provably never reached it.
// All that is left is uncertain, and package queue decides what becomes of an
// uncertain run. Other queues retry here; a payment made twice is why this one
// does not.
//
// Row 7, a run whose supervisor is gone, has nobody here to judge it: the
// queue's expiry records it as uncertain.

// row is one line of the table.
type row struct {
	number int
	fits   func(*Evidence) bool
	is     func(*Evidence) Verdict
}

// rows is the table. Several entries may share a number: the cases of one row.
var rows = []row{
	// The lease is lost: whatever the run was, it is not ours to record.
	{1, func(e *Evidence) bool { return e.Lost }, func(e *Evidence) Verdict {
		return Verdict{LeaseLost: true, Reason: "the lease was lost or could not be renewed in time" + lastWords(e), Late: lateWords(e)}
	}},

	// The job never reached the handler, so nothing can have happened.
	{2, func(e *Evidence) bool { return e.GivenBack != "" }, func(e *Evidence) Verdict {
		return notGiven(e.GivenBack, false)
	}},
	{2, startFailedByJob, func(e *Evidence) Verdict {
		return said(queue.RunDead, "its data is too long to start the handler with: "+e.StartError.Error())
	}},
	{2, func(e *Evidence) bool { return e.StartError != nil }, func(e *Evidence) Verdict {
		return notGiven("the handler does not start: "+e.StartError.Error(), true)
	}},
	{2, diedUngiven, func(e *Evidence) Verdict {
		return notGiven(afterStop(e, unreadWords(e)+lastWords(e)), !e.Stop.ours() && e.Stop != StopCancelled)
	}},

	// A shell reads its script as it runs: after a change in place it may have
	// run half of the old and half of the new, and its exit status means nothing.
	{3, func(e *Evidence) bool { return plain(e) && e.ChangedInPlace != "" }, func(e *Evidence) Verdict {
		return uncertain("the handler's file " + e.ChangedInPlace + " was changed in place while it ran; " + endWords(e) + lastWords(e))
	}},

	// The handler said what the run was.
	{4, func(e *Evidence) bool { return e.Answer != nil }, answered},
	{4, func(e *Evidence) bool { _, ok := statusOutcome(e); return ok }, func(e *Evidence) Verdict {
		is, _ := statusOutcome(e)
		if is == queue.RunDone {
			return done(e.Result, e.ResultTooBig)
		}
		return said(is, afterStop(e, endWords(e)+lastWords(e)))
	}},

	// A failure that no rule names, by the handler's own choice of meaning.
	{5, otherStatus, func(e *Evidence) Verdict {
		if e.Handler.Exit.Other == config.OtherUncertain {
			return uncertain(endWords(e) + `, and exit.other is "uncertain"` + lastWords(e))
		}
		return said(queue.RunRetry, endWords(e)+lastWords(e))
	}},

	// Nothing proves what the run was.
	{6, func(*Evidence) bool { return true }, func(e *Evidence) Verdict {
		return uncertain(unprovenWords(e) + lastWords(e))
	}},
}

// Judge says what a run was.
func Judge(e Evidence) Verdict {
	for _, r := range rows {
		if !r.fits(&e) {
			continue
		}
		v := r.is(&e)
		v.Row = r.number
		v.Reason = queue.CutText(v.Reason, queue.MaxReason) // a handler's words may be of any length
		v.Outcome.Reason = v.Reason
		v.Outcome.CutShort = e.Stop.ours()
		if e.Handler != nil {
			v.Outcome.Backoff = queue.Backoff{
				Base:   e.Handler.Retry.BaseDelay,
				Max:    e.Handler.Retry.MaxDelay,
				Jitter: e.Handler.Retry.Jitter,
			}
		}
		return v
	}
	panic("the table has no last row")
}

func plain(e *Evidence) bool { return e.Handler.Protocol == config.Plain }

// startFailedByJob: too long to start, although the same handler started for
// another job.
func startFailedByJob(e *Evidence) bool {
	return e.StartError != nil && e.StartedBefore && tooLong(e.StartError)
}

// diedUngiven: a lines child died, said nothing about the job, and had read no
// byte of its line. One that has read a part may have begun: id, key and kind
// stand at the beginning, and some read JSON as it comes.
func diedUngiven(e *Evidence) bool {
	return !plain(e) && e.Exit != nil && e.Answer == nil && !e.Heard && e.Untouched
}

// exited reports whether a plain child ended with a status of its own choice
// and left nothing in BAILIFF_OUTCOME that would contradict it.
func exited(e *Evidence) bool {
	return plain(e) && e.Exit != nil && e.Exit.Signal == 0 && e.AnswerError == nil
}

// statusOutcome is what a plain exit status says. Zero after bailiff had told
// the child to stop says nothing: many programs end so on SIGTERM.
func statusOutcome(e *Evidence) (queue.RunEnd, bool) {
	if !exited(e) {
		return "", false
	}
	code := e.Exit.Code
	if o, ok := childproto.StatusOutcome(code); ok {
		if code == 0 && e.Stop != "" {
			return "", false
		}
		return queue.RunEnd(o.Is), true
	}
	switch {
	case slices.Contains(e.Handler.Exit.Dead, code):
		return queue.RunDead, true
	case slices.Contains(e.Handler.Exit.Retry, code):
		return queue.RunRetry, true
	}
	return "", false
}

// otherStatus: another status than statusOutcome knows, not caused by bailiff
// and not the way a shell reports that its command died by a signal.
func otherStatus(e *Evidence) bool {
	if !exited(e) || e.Stop != "" || e.Exit.Code == 0 {
		return false
	}
	_, signal := childproto.ShellSignal(e.Exit.Code)
	return !signal
}

// answered turns the handler's own words into the verdict.
func answered(e *Evidence) Verdict {
	a := e.Answer
	if queue.RunEnd(a.Is) == queue.RunDone {
		if plain(e) && a.Result == nil && !a.ResultTooBig {
			return done(e.Result, e.ResultTooBig)
		}
		return done(a.Result, a.ResultTooBig)
	}
	v := said(queue.RunEnd(a.Is), afterStop(e, a.Reason))
	v.Outcome.After = a.After
	return v
}

func done(result []byte, tooBig bool) Verdict {
	v := Verdict{Outcome: queue.Outcome{Is: queue.RunDone, Result: result}}
	if tooBig {
		v.Outcome.Result = nil
		v.Reason = "the result was over 1 MiB and is not kept"
	}
	return v
}

func said(is queue.RunEnd, reason string) Verdict {
	return Verdict{Outcome: queue.Outcome{Is: is}, Reason: reason}
}

func uncertain(reason string) Verdict { return said(queue.RunUncertain, reason) }

func notGiven(reason string, failing bool) Verdict {
	return Verdict{
		Outcome: queue.Outcome{Is: queue.RunSnooze, NotGiven: true},
		Failing: failing,
		Reason:  reason,
	}
}
