package main

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/supervisor/config"
)

// newLogger is the service's log: lines for people, or JSON, as configured.
func newLogger(out io.Writer, c config.Log) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:       "bailiff",
		Level:      hclog.LevelFromString(c.Level),
		JSONFormat: c.Format == "json",
		Output:     out,
	})
}

// What a log that nobody reads costs.
const (
	maxUnread = 1 << 20         // bytes that wait to be written; what comes after is dropped
	reserve   = maxUnread / 4   // of these, what is kept for warnings and errors
	endUnread = 2 * time.Second // how long the end of the service waits for what is left
)

// patientWriter writes in the background, in order, so that a terminal that was
// stopped, or a full pipe, holds up nobody: neither who watches a child nor who
// records a run. What finds no room is dropped; how much that was is told once
// all that waited is written, in one line. The last of the room is not for lines
// below WARN, so that a handler's output cannot push out what somebody must know.
// Safe for use by several goroutines.
type patientWriter struct {
	out    io.Writer
	tell   func(dropped int) []byte // the line that tells of it
	wake   chan struct{}            // capacity 1
	closed chan struct{}            // everything is written

	mu      sync.Mutex
	waiting [][]byte
	size    int  // bytes in waiting
	dropped int  // writes that are not told of yet
	ending  bool // nothing more is taken
}

func newPatientWriter(out io.Writer, tell func(dropped int) []byte) *patientWriter {
	w := &patientWriter{out: out, tell: tell, wake: make(chan struct{}, 1), closed: make(chan struct{})}
	go w.work()
	return w
}

// Write never waits and never fails.
func (w *patientWriter) Write(p []byte) (int, error) { return w.take(p, maxUnread) }

// LevelWrite is what a logger calls in place of Write.
func (w *patientWriter) LevelWrite(level hclog.Level, p []byte) (int, error) {
	if level < hclog.Warn {
		return w.take(p, maxUnread-reserve)
	}
	return w.take(p, maxUnread)
}

func (w *patientWriter) take(p []byte, room int) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending || w.size+len(p) > room {
		w.dropped++
		return len(p), nil
	}
	w.put(bytes.Clone(p))
	return len(p), nil
}

// end takes nothing more and waits until everything is written, but not for
// longer than endUnread.
func (w *patientWriter) end() {
	w.mu.Lock()
	w.noteDropped()
	w.ending = true
	w.signal()
	w.mu.Unlock()
	select {
	case <-w.closed:
	case <-time.After(endUnread):
	}
}

// noteDropped puts the line that tells of what was dropped after all that waits.
func (w *patientWriter) noteDropped() {
	if w.dropped > 0 && !w.ending {
		w.put(w.tell(w.dropped))
		w.dropped = 0
	}
}

func (w *patientWriter) put(line []byte) {
	w.waiting = append(w.waiting, line)
	w.size += len(line)
	w.signal()
}

func (w *patientWriter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// work writes line by line until the end. A write that fails is not tried
// again: who reads the log has gone.
func (w *patientWriter) work() {
	defer close(w.closed)
	for {
		line, ended := w.next()
		switch {
		case line != nil:
			_, _ = w.out.Write(line)
		case ended:
			return
		default:
			<-w.wake
		}
	}
}

// next is the line to write; nil if there is none now, or never again.
func (w *patientWriter) next() (line []byte, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.noteDropped()
	}
	if len(w.waiting) == 0 {
		return nil, w.ending
	}
	line, w.waiting = w.waiting[0], w.waiting[1:]
	w.size -= len(line)
	return line, false
}

// droppedLine is a line of the service's log.
func droppedLine(c config.Log) func(dropped int) []byte {
	return func(dropped int) []byte {
		var line bytes.Buffer
		newLogger(&line, c).Error("log lines dropped: they were not read in time", "lines", dropped)
		return line.Bytes()
	}
}
