package process

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Stream reads the caller's end of a child's stdout or stderr. A grandchild may
// hold the other end open for ever, so the end of a run is not the end of the
// pipe: after DrainAvailable, Read gives what already stands in the pipe and
// then io.EOF. One goroutine reads.
type Stream struct {
	file     *os.File
	draining atomic.Bool
	counted  bool // rest is known; the reader's own, as rest is
	rest     int  // bytes that stood in the pipe when the draining began
}

// NewStream returns a Stream of f, which must be a pipe of this process as in
// Child. The Stream takes f's read deadline for itself and does not close f.
func NewStream(f *os.File) *Stream { return &Stream{file: f} }

// drainMost bounds what is drained where the system cannot tell what stands in
// the pipe: the most a pipe of an ordinary user holds (pipe(7), pipe-max-size).
const drainMost = 1 << 20

// DrainAvailable makes the stream end at what stands in the pipe now: whoever
// still writes is not waited for. Any goroutine may call it, again too; a Read
// that waits is woken. Call it when the tree is gone (or given up), so that all
// that the child said is there.
func (s *Stream) DrainAvailable() {
	s.draining.Store(true)
	_ = s.file.SetReadDeadline(time.Unix(1, 0))
}

// Read reads as the file does and, once draining, without waiting.
func (s *Stream) Read(p []byte) (int, error) {
	if !s.draining.Load() {
		n, err := s.file.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !s.draining.Load() {
			return n, err
		}
	}
	return s.readStanding(p)
}

func (s *Stream) readStanding(p []byte) (int, error) {
	if !s.counted {
		s.counted = true
		rest, err := standing(s.file)
		if err != nil {
			rest = drainMost
		}
		s.rest = rest
	}
	if s.rest == 0 {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := readNow(s.file, p[:min(len(p), s.rest)])
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	s.rest -= n
	return n, nil
}

// readNow reads without waiting and whatever the deadline: 0 bytes if nothing is
// there or everybody has closed the other end.
func readNow(f *os.File, p []byte) (n int, err error) {
	ctlErr := control(f, func(fd int) {
		for {
			n, err = syscall.Read(fd, p)
			if err != syscall.EINTR {
				return
			}
		}
	})
	switch {
	case ctlErr != nil:
		return 0, ctlErr
	case err == syscall.EAGAIN:
		return 0, nil
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	}
	return n, nil
}

// control calls do with f's descriptor, which stays open meanwhile. The error is
// os.ErrClosed, and then do was not called.
func control(f *os.File, do func(fd int)) error {
	conn, err := f.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) { do(int(fd)) })
	}
	if err != nil {
		return os.ErrClosed
	}
	return nil
}
