package childproto

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// session is one child's talk under lines. One goroutine owns it; another reads
// stdin for it, and each job runs in its own.
type session struct {
	out     *speaker
	fn      Handler
	waiting []*run // given and not begun, in order
	current *run   // nil: none
	ended   chan ended
}

// run is a job that was given.
type run struct {
	task *Task
	ctx  context.Context
	stop context.CancelCauseFunc
}

// serveLines says ready, then an outcome for each job, one job at a time.
func serveLines(ctx context.Context, in io.Reader, out io.Writer, fn Handler) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &session{fn: fn, ended: make(chan ended, 1)}
	s.out = &speaker{w: out, failed: func(error) { stop(errStdoutGone) }}
	s.out.say(&Message{Type: TypeReady, Protocol: Version})

	commands := make(chan Command)
	var broken error // read once commands is closed
	go func() {
		defer close(commands)
		broken = listen(ctx, NewReader(in), commands)
	}()
	more, stopped := (<-chan Command)(commands), ctx.Done()
	for {
		if stopped != nil {
			s.begin()
		}
		if s.current == nil && (more == nil || stopped == nil) {
			break
		}
		select {
		case c, ok := <-more:
			if !ok {
				more = nil
				continue
			}
			s.obey(ctx, c)
		case e := <-s.ended:
			s.answer(e)
			if e.crashed {
				return fmt.Errorf("job %d: %s", e.task.ID, e.outcome.Reason)
			}
		case <-stopped:
			stopped = nil
		}
	}
	s.giveBack()
	if more != nil { // stopped: whoever reads stdin may still be at it
		return s.out.failure()
	}
	return errors.Join(broken, s.out.failure())
}

// listen passes on what the supervisor says until the stream or ctx ends. A line
// that is no message of a supervisor is an error: what follows cannot be trusted.
func listen(ctx context.Context, in *Reader, commands chan<- Command) error {
	for {
		line, err := in.Next()
		switch {
		case errors.Is(err, io.EOF), err == nil && line.Partial:
			return nil
		case err != nil:
			return fmt.Errorf("read stdin: %w", err)
		case line.TooLong:
			return errorAt(line.Text, 0, "a line longer than 2 MiB on stdin")
		case len(line.Text) == 0:
			continue
		}
		c, err := ParseCommand(line.Text)
		if err != nil {
			return fmt.Errorf("line on stdin: %w", err)
		}
		select {
		case commands <- c:
		case <-ctx.Done():
			return nil
		}
	}
}

// obey takes in a job, or stops one. The answers of an effect journal have
// nobody here who asked, and what a later version says is not for this one.
func (s *session) obey(ctx context.Context, c Command) {
	switch c.Type {
	case TypeJob:
		jobCtx, stop := context.WithCancelCause(ctx)
		s.waiting = append(s.waiting, &run{task: &Task{Job: *c.Job, say: s.out.say}, ctx: jobCtx, stop: stop})
	case TypeCancel:
		for _, r := range append(slices.Clone(s.waiting), s.current) {
			if r != nil && r.task.ID == c.ID {
				r.stop(&Cancelled{Reason: CancelReason(c.Reason), Grace: c.Grace})
			}
		}
	}
}

// begin starts the next job if none is at work.
func (s *session) begin() {
	if s.current != nil || len(s.waiting) == 0 {
		return
	}
	s.current, s.waiting = s.waiting[0], s.waiting[1:]
	r := s.current
	go attempt(r.ctx, s.fn, r.task, func(e ended) { s.ended <- e })
}

// answer tells how the current job ended.
func (s *session) answer(e ended) {
	if e.note != "" {
		s.out.say(&Message{Type: TypeLog, ID: e.task.ID, HasID: true, Level: "warn", Text: e.note})
	}
	s.out.say(e.outcome.message(e.task.ID))
	s.current.stop(nil)
	s.current = nil
}

// giveBack snoozes the jobs that were not begun when ctx ended.
func (s *session) giveBack() {
	for _, r := range s.waiting {
		r.stop(nil)
		s.out.say(Outcome{Is: EndSnooze, After: bounded(0)}.message(r.task.ID))
	}
}
