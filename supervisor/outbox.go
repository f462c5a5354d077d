package supervisor

import (
	"cmp"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxPending is how many lines may wait for a child that does not read. A job
// has at most 1 000 effects, so an honest child never comes near it.
const maxPending = 1100

var errNotReading = errors.New("it does not read its stdin")

// outbox writes lines to a child's stdin in order, so that a child that does
// not read holds up nobody who watches it. It counts what reached the pipe, at
// every moment exactly: from that, and from what stands in the pipe, the
// supervisor knows what the child has not read, and so whether it can know of
// its job.
type outbox struct {
	file   *os.File
	wake   chan struct{} // capacity 1
	failed chan struct{} // closed after a write failed
	done   chan struct{} // closed when the writing goroutine has returned

	mu      sync.Mutex // held during a write too, which does not wait
	pending [][]byte
	queued  int64 // bytes ever put
	jobEnd  int64 // of these, those up to the end of the last job's line
	written int64 // bytes that reached the pipe
	closing bool  // close the file once pending is empty
	halted  bool  // write nothing more
}

func newOutbox(file *os.File) *outbox {
	o := &outbox{
		file:   file,
		wake:   make(chan struct{}, 1),
		failed: make(chan struct{}),
		done:   make(chan struct{}),
	}
	go o.write()
	return o
}

// put queues a line, which the outbox owns from then on. It never blocks. The
// error is errNotReading, and then the line is not queued.
func (o *outbox) put(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.putLocked(line)
}

// putJob is put for the line of a job, and answers where that ends.
func (o *outbox) putJob(line []byte) (jobEnd int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.putLocked(line); err != nil {
		return 0, err
	}
	o.jobEnd = o.queued
	return o.jobEnd, nil
}

func (o *outbox) putLocked(line []byte) error {
	if len(o.pending) >= maxPending {
		return errNotReading
	}
	o.pending = append(o.pending, line)
	o.queued += int64(len(line))
	signal(o.wake)
	return nil
}

// end closes the pipe after what was queued: the child's end of file.
func (o *outbox) end() {
	o.mu.Lock()
	o.closing = true
	o.mu.Unlock()
	signal(o.wake)
}

// halt ends the writing now, whoever holds the other end of the pipe, and
// leaves the file open. Afterwards nothing is written any more.
func (o *outbox) halt() {
	o.mu.Lock()
	o.halted = true
	o.mu.Unlock()
	signal(o.wake)
	_ = o.file.SetWriteDeadline(time.Unix(1, 0))
	<-o.done
}

// reading is how far a child has come with the last job.
type reading struct {
	jobEnd int64 // where that job's line ends, as putJob answered
	unread int64 // how much of its line was not read; -1 where the system cannot tell
}

// reading looks how far the child has come; standing counts what stands in the
// pipe. A child that lives may have read more since.
func (o *outbox) reading(standing func() (int, error)) reading {
	o.mu.Lock()
	defer o.mu.Unlock()
	inPipe, err := standing()
	if err != nil {
		return reading{o.jobEnd, -1}
	}
	return reading{o.jobEnd, max(0, o.jobEnd-(o.written-int64(inPipe)))}
}

// jobWritten reports whether the whole line of the last job has reached the pipe.
func (o *outbox) jobWritten() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written >= o.jobEnd
}

// write is the outbox's goroutine. It returns after halt, after end, or when a
// write fails.
func (o *outbox) write() {
	defer close(o.done)
	pipe, err := o.file.SyscallConn()
	for err == nil {
		line, ok := o.next()
		if !ok {
			return
		}
		err = o.push(pipe, line)
	}
	close(o.failed)
}

// push writes one line, waiting for room in the pipe.
func (o *outbox) push(pipe syscall.RawConn, line []byte) (failed error) {
	err := pipe.Write(func(fd uintptr) (done bool) {
		o.mu.Lock()
		defer o.mu.Unlock()
		for len(line) > 0 {
			n, err := syscall.Write(int(fd), line)
			switch {
			case n > 0:
				o.written += int64(n)
				line = line[n:]
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			default:
				failed = cmp.Or(err, io.ErrShortWrite)
				return true
			}
		}
		return true
	})
	return errors.Join(err, failed)
}

func (o *outbox) next() (line []byte, ok bool) {
	for {
		o.mu.Lock()
		if o.halted {
			o.mu.Unlock()
			return nil, false
		}
		if len(o.pending) > 0 {
			line, o.pending = o.pending[0], o.pending[1:]
			o.mu.Unlock()
			return line, true
		}
		closing := o.closing
		o.mu.Unlock()
		if closing {
			_ = o.file.Close()
			return nil, false
		}
		<-o.wake
	}
}
