package childproto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Handler works on one job. A nil error is done, with the result as JSON (nil:
// none; see Serve for what can be one).
//
// An error made by Retry, Dead, Uncertain or Snooze says what the run was. Any
// other is a retry, so return one only if a second run does no harm. But once
// ctx has ended, or where the error itself tells of an ended context, such an
// error is uncertain: a call that was interrupted may have arrived. A panic is
// uncertain, too, and ends the process.
//
// ctx ends when the job is to be stopped; context.Cause then tells why, as a
// *Cancelled where the supervisor said it. Its grace begins at that moment.
type Handler func(ctx context.Context, task *Task) (result any, err error)

// Cancelled is the cause of a context that ended because the supervisor said so.
type Cancelled struct {
	Reason CancelReason
	Grace  time.Duration // until the process is killed
}

// Error names the reason.
func (c *Cancelled) Error() string { return "cancelled: " + string(c.Reason) }

// errStdoutGone is the cause where nobody reads what the handler says.
var errStdoutGone = errors.New("nobody reads stdout any more")

// Serve works on jobs by fn, in whichever protocol BAILIFF_PROTOCOL names: under
// lines on one after the other, until end of file; under plain on one. Without
// the variable it is plain, so that a handler can be tried by hand:
//
//	echo '{"path":"go.mod"}' | wordcount
//
// While it works, what is printed to stdout goes to stderr: a stray print of a
// library cannot spoil the protocol. A result may be anything that
// github.com/go-json-experiment/json can write, jsontext.Value among it; one
// that it cannot write, or over MaxResult, or nested deeper than MaxDepth, is
// dropped and logged, for the job is done.
//
// When ctx ends the job at work is stopped and its outcome told, then Serve
// returns. End of file stops no job: it is finished first.
//
// The error is nil when every job had its outcome told. Under plain it is the
// *EndError by which the run ended; exit with its Status. A goroutine may be
// left reading stdin: Serve is the last thing that a program does.
func Serve(ctx context.Context, fn Handler) error {
	stdout, restore, err := takeStdout()
	if err != nil {
		return fmt.Errorf("take stdout: %w", err)
	}
	defer restore()
	switch protocol := os.Getenv("BAILIFF_PROTOCOL"); protocol {
	case "lines":
		return serveLines(ctx, os.Stdin, stdout, fn)
	case "plain", "":
		return servePlain(ctx, os.Stdin, stdout, fn)
	default:
		return fmt.Errorf("BAILIFF_PROTOCOL=%s: lines or plain is expected", protocol)
	}
}

// Main is Serve as the whole of a program: SIGTERM and SIGINT end the context,
// a second one ends the program, and the exit status says the outcome.
func Main(fn Handler) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(exitStatus(Serve(ctx, fn), os.Stderr))
}

// exitStatus is the status for an error of Serve, which it prints.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil {
		return StatusDone
	}
	fmt.Fprintln(stderr, err)
	var end *EndError
	if errors.As(err, &end) {
		return end.Status()
	}
	return 1
}
