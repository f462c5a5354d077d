package childproto

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// ended is how one call of a Handler ended.
type ended struct {
	task    *Task
	outcome Outcome
	crashed bool   // it panicked or left its goroutine: the process is not to be trusted
	note    string // what is to be logged beside; empty: nothing
}

// attempt calls fn for task. It returns however fn ends, unless fn ends the
// process; where fn left its goroutine (runtime.Goexit), then tells.
func attempt(ctx context.Context, fn Handler, task *Task, tell func(ended)) {
	e := ended{task: task, crashed: true}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s", p, debug.Stack())
			e.outcome = Outcome{Is: EndUncertain, Reason: fmt.Sprintf("panic: %v", p)}
		} else if e.crashed {
			e.outcome = Outcome{Is: EndUncertain, Reason: "the handler left its goroutine without an answer"}
		}
		task.end()
		tell(e)
	}()
	result, err := fn(ctx, task)
	e.crashed = false
	if err != nil {
		e.outcome = failed(ctx, err)
		return
	}
	e.outcome, e.note = succeeded(result)
}

// failed is the outcome of a run that returned an error; Handler's doc is the
// rule.
func failed(ctx context.Context, err error) Outcome {
	var end *EndError
	if errors.As(err, &end) {
		o := Outcome{Is: end.Is, After: end.After}
		if end.Is != EndSnooze {
			o.Reason = err.Error()
		}
		return o
	}
	if ctx.Err() != nil {
		return Outcome{Is: EndUncertain, Reason: fmt.Sprintf("stopped half-way (%v): %v", context.Cause(ctx), err)}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Outcome{Is: EndUncertain, Reason: fmt.Sprintf("stopped half-way: %v", err)}
	}
	return Outcome{Is: EndRetry, Reason: err.Error()}
}

// succeeded is done with a result, or without the one that cannot be sent and
// a note why. What was done stays done.
func succeeded(result any) (Outcome, string) {
	if result == nil {
		return Outcome{Is: EndDone}, ""
	}
	text, err := encode(result)
	if err == nil {
		err = strictjson.Check(text, MaxDepth)
	}
	if err != nil {
		return Outcome{Is: EndDone}, fmt.Sprintf("done without its result, which cannot be sent: %v", err)
	}
	o := done(text)
	if o.ResultTooBig {
		return o, fmt.Sprintf("done without its result, which is longer than 1 MiB (%d bytes)", len(text))
	}
	return o, ""
}

// message is the message that tells an outcome.
func (o Outcome) message(id int64) *Message {
	return &Message{Type: Type(o.Is), ID: id, HasID: true, Result: o.Result, Reason: o.Reason, After: o.After}
}
