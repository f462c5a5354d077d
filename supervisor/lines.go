package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/process"
)

// endWait is how long a child that closed its stdout or stdin has to end by
// itself: a process that exits closes its pipes a moment before.
const endWait = 500 * time.Millisecond

// lineChild is one process of a lines handler, spoken to by one goroutine at a
// time: start, awaitReady, converse for each job, finish.
type lineChild struct {
	handler *config.Handler
	seen    transcript
	proc    *process.Child
	out     *outbox
	inbox   chan inbound // closed after the last
	streams streams
	tail    atomic.Pointer[process.Tail] // of the present job, or of the time before the first

	served int  // jobs answered
	killed bool // finish was called
}

// inbound is a message, or what is wrong with a line.
type inbound struct {
	message childproto.Message
	err     error

	reading reading // of the moment when the line was heard: it tells which job it can be about
}

// startLines starts a child. The error is a *process.StartError.
func startLines(h *config.Handler, env []string, seen transcript) (*lineChild, error) {
	proc, err := process.Start(process.Spec{Argv: h.Command, Dir: h.Dir, Env: env})
	if err != nil {
		return nil, err
	}
	c := &lineChild{
		handler: h,
		seen:    seen,
		proc:    proc,
		out:     newOutbox(proc.Stdin),
		inbox:   make(chan inbound),
	}
	c.tail.Store(process.NewTail(stderrBytes))
	c.streams.read(proc.Stdout, c.listen)
	c.streams.read(proc.Stderr, func(stderr io.Reader) {
		_ = process.Pump(stderr, maxLogLine, func(line []byte, cut bool) {
			c.tail.Load().Add(line)
			c.seen.stderr(line, cut)
		})
	})
	return c, nil
}

// listen turns stdout into messages. While nobody takes them the child's pipe
// fills, which slows down a child that says too much, and nobody else.
func (c *lineChild) listen(stdout io.Reader) {
	defer close(c.inbox)
	tell := func(m childproto.Message, err error) {
		c.inbox <- inbound{m, err, c.reading()}
	}
	wrong := func(err error) { tell(childproto.Message{}, err) }
	lines := childproto.NewReader(stdout)
	for {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			wrong(fmt.Errorf("read stdout: %w", err))
			return
		case line.Stray:
			_ = process.Pump(bytes.NewReader(line.Text), maxLogLine, func(text []byte, cut bool) {
				c.seen.printed(text, cut || line.Cut)
			})
		case line.TooLong:
			wrong(fmt.Errorf("line longer than %d bytes", childproto.MaxLine))
		case line.Partial:
			wrong(errors.New("stdout ended within a line"))
		default:
			c.seen.received(line.Text)
			tell(childproto.ParseMessage(line.Text))
		}
	}
}

// reading is how far the child has come with its last job.
func (c *lineChild) reading() reading { return c.out.reading(c.proc.Unread) }

// awaitReady waits until the child can take a job; the error tells in words
// why it cannot. stop ends the waiting with errNotWanted.
func (c *lineChild) awaitReady(stop <-chan struct{}) error {
	timer := time.NewTimer(c.handler.StartTimeout)
	defer timer.Stop()
	inbox := c.inbox
	for {
		select {
		case in, open := <-inbox:
			switch {
			case !open:
				inbox = nil // the exit tells more
				timer.Reset(min(endWait, c.handler.StartTimeout))
			case in.err != nil:
				return fmt.Errorf("broken protocol before ready: %w", in.err)
			case in.message.Type == childproto.TypeReady && in.message.Protocol != childproto.Version:
				return fmt.Errorf("it speaks protocol %d, bailiff %d", in.message.Protocol, childproto.Version)
			case in.message.Type == childproto.TypeReady:
				return nil
			case in.message.Type == childproto.TypeLog && !in.message.HasID:
				c.log(in.message)
			default:
				return fmt.Errorf("broken protocol: %s before ready", in.message.Type)
			}
		case <-c.proc.Exited():
			return fmt.Errorf("before it was ready: %s; it ran %s", c.deathWords(), c.proc.Path)
		case <-timer.C:
			if inbox == nil {
				return errors.New("it closed its stdout before it was ready")
			}
			return fmt.Errorf("not ready within start_timeout = %s", c.handler.StartTimeout)
		case <-stop:
			return errNotWanted
		}
	}
}

// errNotWanted: nobody waits for the child any more; no fault of its own.
var errNotWanted = errors.New("no longer wanted")

// deathWords tells how the child ended, quoting its last words. It ends the
// talk: all that the child said is read.
func (c *lineChild) deathWords() string {
	c.finish()
	words := exitWords(c.proc.Exit())
	if line := c.tail.Load().Last(); line != "" {
		words += ": " + queue.CutText(visible(line), maxQuote)
	}
	return words
}

// idleMessage judges what a child says between two jobs; the error is what ends
// the talk.
func (c *lineChild) idleMessage(in inbound) error {
	switch m := in.message; {
	case in.err != nil:
		return in.err
	case m.Type == childproto.TypeLog:
		c.log(m)
	case m.Type == childproto.TypeProgress, m.Type == childproto.TypeAlive:
		// Late news of a job it has finished does no harm.
	case m.Type == childproto.TypeEffect:
		return c.out.put(childproto.AppendRefused(nil, m.ID, m.Name, "the job is finished"))
	default:
		return fmt.Errorf("%s although it has no job", m.Type)
	}
	return nil
}

// log passes on what the handler logs through the protocol.
func (c *lineChild) log(m childproto.Message) {
	text := m.Level + ": " + m.Text
	if len(m.Fields) > 0 {
		text += " " + string(m.Fields)
	}
	c.seen.printed([]byte(text), false)
}

// finish kills the tree and reads what the child had still to say, which ends
// the talk; messages that nobody takes are dropped. It may be called again.
func (c *lineChild) finish() []inbound {
	if c.killed {
		return nil
	}
	c.killed = true
	c.proc.Kill()
	waitGone(c.proc)
	c.out.halt()
	for _, stream := range c.streams.all {
		stream.DrainAvailable()
	}
	// Nobody took messages since the kill, so what is left is bounded by what
	// a pipe holds.
	var rest []inbound
	for in := range c.inbox {
		rest = append(rest, in)
	}
	c.streams.group.Wait()
	return rest
}

// dismiss ends a child that has no job: end of file, then the ladder. hurry
// kills at once.
func (c *lineChild) dismiss(hurry <-chan struct{}) {
	c.out.end()
	ladder := newLadder(c.proc, c.handler.Grace)
	defer ladder.leave()
	ladder.begin(StopRetired, func() {}) // the end of file asks
	inbox := c.inbox
	for {
		select {
		case _, open := <-inbox:
			if !open {
				inbox = nil
			}
		case <-c.proc.Exited():
			c.finish()
			return
		case <-hurry:
			hurry = nil
			ladder.kill()
		case <-ladder.C:
			ladder.climb()
		}
	}
}
