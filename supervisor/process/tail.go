package process

import (
	"bytes"
	"sync"
)

// Tail keeps the last line of a stream, so that a reason can quote what a
// program said before it ended. Safe for use from several goroutines.
type Tail struct {
	most int

	mu   sync.Mutex
	last []byte
}

// NewTail returns a Tail that keeps at most that many bytes: of a longer line
// the beginning.
func NewTail(most int) *Tail { return &Tail{most: most} }

// Add keeps a copy of a line instead of the one before, unless it is blank.
func (t *Tail) Add(line []byte) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	if len(line) > t.most {
		line = line[:characterStart(line, t.most)]
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last[:0], line...)
}

// Last returns the last line that was not blank, "" if there was none. The
// bytes are as the program wrote them.
func (t *Tail) Last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
