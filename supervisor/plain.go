package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/b1213022/bailiff/childproto"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/process"
)

// goneWait is how long the end of a run waits for a killed tree before it reads
// what stands in the pipes. The kill takes effect within milliseconds; a
// process that hangs in the kernel must not hold up the verdict.
const goneWait = time.Second

// stderrBytes is how much is kept of the last line of a child's stderr, or of
// what it printed, to quote it.
const stderrBytes = 8 << 10

// plainRun is one run of a plain handler: a process of its own for one job.
type plainRun struct {
	handler *config.Handler
	files   handlerFiles
	env     []string // of Environment
	folder  string   // parent of the run's private folder
	job     *childproto.Job
	control control

	child  *process.Child
	watch  *overseer
	stdout capture
	tail   *process.Tail
}

// work runs the handler to its end and answers with what was seen. Afterwards
// the tree has been killed; child, if not nil, tells when it is gone, and must
// be closed.
func (r *plainRun) work() (Evidence, *process.Child) {
	e := Evidence{Handler: r.handler}
	folder, err := privateFolder(r.folder, r.job)
	if err != nil {
		e.StartError = fmt.Errorf("make the folder for BAILIFF_OUTCOME: %w", err)
		return e, nil
	}
	defer func() { _ = os.RemoveAll(folder) }()
	outcomeFile := filepath.Join(folder, "outcome")

	before := r.files.now()
	obstacle, begun := r.control.obstacle()
	r.child, err = process.Start(process.Spec{
		Argv: r.handler.Command,
		Dir:  r.handler.Dir,
		Env:  withJob(r.env, r.job, outcomeFile),
		Stop: obstacle,
	})
	begun()
	switch {
	case errors.Is(err, process.ErrStopped):
		r.control.notBegun(&e)
		return e, nil
	case err != nil:
		e.StartError = err
		return e, nil
	}
	r.watch = oversee(r.child, r.handler, r.control)
	r.control.atWork(r.child.PID(), func() { r.child.Kill() })

	streams := r.attach()
	for what := eventSeenTo; what != eventEnded; {
		what, _ = r.watch.next()
	}
	r.watch.rest()
	r.child.Kill()
	waitGone(r.child)
	_ = r.child.CloseStdin() // ends the feeding, whoever still holds the other end
	streams.drain()

	exit := r.child.Exit()
	e.Exit, e.Lost, e.Stop = &exit, r.watch.lost, r.watch.ladder.stop(exit)
	e.Stderr = r.tail.Last()
	e.ChangedInPlace = r.files.changedInPlace(before)
	e.Answer, e.AnswerError = readOutcomeFile(outcomeFile, r.job.ID)
	r.judgeStdout(&e)
	return e, r.child
}

// attach feeds stdin and reads stdout and stderr, all at once.
func (r *plainRun) attach() *streams {
	input := append(bytes.Clone(r.job.Payload), '\n')
	r.control.seen.sent(input[:len(input)-1])
	s := &streams{}
	s.group.Go(func() {
		// A handler may leave its payload unread: that is no failure.
		_, _ = r.child.Stdin.Write(input)
		_ = r.child.CloseStdin()
	})
	r.tail = process.NewTail(stderrBytes)
	s.read(r.child.Stdout, func(stdout io.Reader) {
		_, _ = io.Copy(io.MultiWriter(&r.stdout, &r.watch.heard), stdout)
	})
	s.read(r.child.Stderr, func(stderr io.Reader) {
		_ = process.Pump(io.TeeReader(stderr, &r.watch.heard), maxLogLine, func(line []byte, cut bool) {
			r.tail.Add(line)
			r.control.seen.stderr(line, cut)
		})
	})
	return s
}

// judgeStdout decides whether stdout is the result, and shows it to the log
// otherwise.
func (r *plainRun) judgeStdout(e *Evidence) {
	text := r.stdout.text
	if r.stdout.dropped == 0 {
		if result, ok := childproto.PlainResult(text); ok {
			r.control.seen.received(result)
			e.Result = result
			e.ResultTooBig = len(result) > childproto.MaxResult
			return
		}
	} else {
		e.ResultTooBig = beginsResult(text)
	}
	tail := process.NewTail(stderrBytes)
	_ = process.Pump(bytes.NewReader(text), maxLogLine, func(line []byte, cut bool) {
		tail.Add(line)
		r.control.seen.printed(line, cut)
	})
	if r.stdout.dropped == 0 { // else the last line is not there
		e.Printed = tail.Last()
	} else {
		r.control.log.Warn("stdout is longer than is kept: the rest was dropped", "job", r.job.ID, "bytes", r.stdout.dropped)
	}
}

// streams are a child's pipes being read and fed.
type streams struct {
	group sync.WaitGroup
	all   []*process.Stream
}

func (s *streams) read(file *os.File, reader func(io.Reader)) {
	stream := process.NewStream(file)
	s.all = append(s.all, stream)
	s.group.Go(func() { reader(stream) })
}

// drain reads what already stands in the pipes, waiting for nobody who may
// still hold them. The feeding must be able to end.
func (s *streams) drain() {
	for _, stream := range s.all {
		stream.DrainAvailable()
	}
	s.group.Wait()
}

// waitGone gives a killed tree a moment to be gone.
func waitGone(child *process.Child) {
	timer := time.NewTimer(goneWait)
	defer timer.Stop()
	select {
	case <-child.Gone():
	case <-timer.C:
	}
}
