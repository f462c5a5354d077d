package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/go-hclog"
)

// TryOptions says what Try runs and where it shows it.
type TryOptions struct {
	Handler  *config.Handler
	Payload  jsontext.Value // empty: {}
	Meta     jsontext.Value // nil: none
	Key      string         // empty: "try"
	StateDir string         // parent of the run's temporary folder; empty: the system's
	Database string         // as in Options
	Binary   string         // as in Options
	Out      io.Writer      // where the conversation is shown
}

// tryID is the id of the job that Try makes up.
const tryID = 1

// Try runs a handler once outside the queue, in the environment the service
// would give it, and shows the conversation: what is sent after →, what is
// received after ←, other prints after ·, stderr after !, and then what would
// be recorded. The error is nil whatever the verdict; it tells that the
// arguments cannot be used. Ending ctx stops the handler as a shutdown would.
func Try(ctx context.Context, opt TryOptions) (Verdict, error) {
	payload := []byte("{}")
	if len(opt.Payload) > 0 {
		var err error
		if payload, err = queue.CheckPayload(opt.Payload); err != nil {
			return Verdict{}, fmt.Errorf("try: %w", err)
		}
	}
	h, now := opt.Handler, time.Now()
	key := opt.Key
	if key == "" {
		key = "try"
	}
	job := wireJob(&queue.Job{
		ID: tryID, Kind: h.Kind, Key: key, Payload: payload, Meta: opt.Meta,
		Fence: 1, Attempt: 1, MaxAttempts: h.Retry.MaxAttempts, AvailableAt: now,
		IdempotencyKey: queue.IdempotencyKey([16]byte{}, h.Kind, key),
	}, h, now)
	show := &conversation{out: opt.Out}
	ctl := control{
		stop:     ctx.Done(),
		atWork:   func(int, func()) {},
		answered: func() bool { return true },
		progress: func(*float64, string) {},
		stopping: func(s Stop) { show.line("=", "stopping: "+string(s)) },
		seen:     show,
		log:      hclog.NewNullLogger(),
	}
	env := Environment(h, opt.Database, opt.Binary)
	var e Evidence
	if h.Protocol == config.Plain {
		e = tryPlain(h, env, opt.StateDir, job, ctl)
	} else {
		e = tryLines(h, env, job, ctl)
	}
	v := Judge(e)
	show.verdict(v, e, time.Since(now))
	return v, show.err
}

func tryPlain(h *config.Handler, env []string, folder string, job *childproto.Job, ctl control) Evidence {
	if folder == "" {
		folder = os.TempDir()
	}
	r := &plainRun{handler: h, files: new(contents).of(h), env: env, folder: folder, job: job, control: ctl}
	e, proc := r.work()
	if proc != nil {
		waitGone(proc)
		_ = proc.Close()
	}
	return e
}

func tryLines(h *config.Handler, env []string, job *childproto.Job, ctl control) Evidence {
	c, err := startLines(h, env, ctl.seen)
	if err != nil {
		return Evidence{Handler: h, StartError: err}
	}
	defer func() {
		c.finish()
		waitGone(c.proc)
		_ = c.proc.Close()
	}()
	switch err := c.awaitReady(ctl.stop); {
	case errors.Is(err, errNotWanted):
		return Evidence{Handler: h, GivenBack: "stopped before the handler was ready"}
	case err != nil:
		return Evidence{Handler: h, StartError: err}
	}
	e := c.converse(job, ctl)
	if e.Exit == nil {
		c.dismiss(nil)
	}
	return e
}

// conversation shows what crosses between bailiff and a handler. Safe for use
// by several goroutines.
type conversation struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

func (c *conversation) sent(line []byte)              { c.line("→", string(line)) }
func (c *conversation) received(line []byte)          { c.line("←", string(line)) }
func (c *conversation) printed(line []byte, cut bool) { c.line("·", string(line)+cutMark(cut)) }
func (c *conversation) stderr(line []byte, cut bool)  { c.line("!", string(line)+cutMark(cut)) }

func cutMark(cut bool) string {
	if cut {
		return "… (truncated)"
	}
	return ""
}

func (c *conversation) line(mark, text string) {
	if len(text) > 0 && text[len(text)-1] == '\n' {
		text = text[:len(text)-1]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := fmt.Fprintf(c.out, "%s %s\n", mark, visible(queue.CutText(text, maxLogLine))); err != nil {
		c.err = err
	}
}

// verdict tells what would be recorded.
func (c *conversation) verdict(v Verdict, e Evidence, took time.Duration) {
	words := string(v.Outcome.Is)
	switch {
	case v.Failing:
		words = "not run; no job would use up an attempt"
	case v.Outcome.NotGiven:
		words = "not run"
	case v.Outcome.Is == queue.RunDone && len(v.Outcome.Result) > 0:
		words = "done, with a result of " + fmt.Sprint(len(v.Outcome.Result)) + " bytes"
	case v.Outcome.Is == queue.RunDone && v.Reason == "" && plain(&e):
		words = "done, no result (what it printed, if anything, was not JSON as a whole; that is fine)"
	case v.Outcome.Is == queue.RunDone && v.Reason == "":
		words = "done, no result"
	}
	if v.Outcome.After != nil {
		words += " after " + v.Outcome.After.String()
	}
	if v.Reason != "" {
		words += ": " + v.Reason
	}
	c.line("=", fmt.Sprintf("would be recorded after %s: %s", took.Round(time.Millisecond), words))
}
