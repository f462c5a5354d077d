package childproto

import (
	"fmt"
	"io"
	"sync"
)

// speaker writes messages of a child, each in one write, from any goroutine.
type speaker struct {
	w      io.Writer
	failed func(error) // called when writing first fails; nothing is written after

	mu  sync.Mutex
	buf []byte
	err error
}

// say writes m. A failure is kept for failure: there is nobody left to tell.
func (s *speaker) say(m *Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.buf = AppendMessage(s.buf[:0], m)
	if _, err := s.w.Write(s.buf); err != nil {
		s.err = fmt.Errorf("write to stdout: %w", err)
		s.failed(s.err)
	}
	if cap(s.buf) > readChunk {
		s.buf = nil
	}
}

// failure is what writing first failed with.
func (s *speaker) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
