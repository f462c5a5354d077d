package supervisor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/process"
)

// maxQuote is how many bytes of a handler's output a reason quotes.
const maxQuote = 400

// lastWords quotes the last line of stderr, where most programs say why they
// failed, or else of what a plain handler printed. It is empty if there was none.
func lastWords(e *Evidence) string {
	if line := strings.TrimSpace(e.Stderr); line != "" {
		return "; last stderr line: " + queue.CutText(line, maxQuote)
	}
	if line := strings.TrimSpace(e.Printed); line != "" {
		return "; last output line: " + queue.CutText(line, maxQuote)
	}
	return ""
}

// endWords tells how the child ended.
func endWords(e *Evidence) string {
	if e.Exit == nil {
		return "still runs"
	}
	return exitWords(*e.Exit)
}

// exitWords tells how a process ended, and what a shell means by its status.
func exitWords(x process.Exit) string {
	if x.Signal != 0 {
		return x.String()
	}
	if sig, ok := childproto.ShellSignal(x.Code); ok {
		return fmt.Sprintf("%s (the way of a shell to say that its command was %s)", x, process.Exit{Signal: sig})
	}
	return x.String()
}

// stopWords tells why bailiff stopped the child, with the setting that asked
// for it.
func stopWords(e *Evidence) string {
	switch e.Stop {
	case StopTimeout:
		return "stopped at its timeout of " + e.Handler.Timeout.String()
	case StopLiveness:
		return "stopped after it had been silent for " + e.Handler.Liveness.String() + " (liveness)"
	case StopCancelled:
		return "stopped because the job was cancelled"
	case StopShutdown:
		return "interrupted by shutdown"
	case StopAbort:
		return "killed at once by shutdown"
	case StopRetired:
		return "sent away because it was no longer needed"
	}
	return ""
}

// afterStop puts why bailiff stopped the child before the reason that the child
// gave for its end; it adds nothing where bailiff had not.
func afterStop(e *Evidence, reason string) string {
	switch stop := stopWords(e); {
	case stop == "":
		return reason
	case reason == "":
		return stop
	default:
		return stop + "; " + reason
	}
}

// lateWords tells the outcome of a run that had lost its lease; empty if it
// gave none.
func lateWords(e *Evidence) string {
	if e.Answer != nil {
		return lateOutcome(answered(e))
	}
	if is, ok := statusOutcome(e); ok {
		return lateOutcome(said(is, endWords(e)))
	}
	return ""
}

func lateOutcome(v Verdict) string {
	words := fmt.Sprintf("an outcome came after the lease was lost and does not count: %s", v.Outcome.Is)
	if v.Reason != "" {
		words += ": " + v.Reason
	}
	return queue.CutText(words, queue.MaxReason)
}

// unprovenWords tells why nothing proves what the run was.
func unprovenWords(e *Evidence) string {
	switch {
	case e.AnswerError != nil:
		return fmt.Sprintf("BAILIFF_OUTCOME holds no outcome: %v; %s", e.AnswerError, endWords(e))
	case e.ProtocolError != nil && (e.Stop == "" || e.Stop == StopProtocol):
		words := fmt.Sprintf("broken protocol: %v", e.ProtocolError)
		if e.Stop == "" {
			words += "; " + endWords(e)
		}
		return words
	case e.Stop != "":
		words := stopWords(e) + "; " + endWords(e)
		if plain(e) && e.Exit != nil && e.Exit.Signal == 0 && e.Exit.Code == 0 {
			words += ", which proves nothing after it was told to stop"
		} else if !plain(e) {
			words += " without an outcome"
		}
		return words
	case plain(e):
		return endWords(e)
	}
	return endWords(e) + " without an outcome: it never said done, retry or dead"
}

// unreadWords tells how a lines child came to leave its job unread.
func unreadWords(e *Evidence) string {
	if e.ProtocolError != nil {
		return fmt.Sprintf("the child broke the protocol before it had read the job: %v", e.ProtocolError)
	}
	return "the child ended before it had read the job: " + endWords(e)
}

// tooLong reports whether a start failed because arguments and environment
// were too long together.
func tooLong(err error) bool {
	var start *process.StartError
	return errors.As(err, &start) && start.TooLong()
}
