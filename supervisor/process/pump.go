package process

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// Pump reads r to its end, a Stream for example, and calls emit for each line of
// log text, without its line end. text is valid until emit returns.
//
// A line feed ends a line, with or without a carriage return before it. A
// carriage return alone ends one too, but of a run of lines that end so only the
// last is kept, as a terminal would show a progress bar. A last line without an
// end is a line.
//
// At most limit bytes of a line are kept, cut at a character, and cut is true;
// memory does not grow with the length of a line. While emit works the stream is
// not read, so it should be quick.
//
// Pump returns nil at the end of r, else what r failed with, after a last line.
func Pump(r io.Reader, limit int, emit func(text []byte, cut bool)) error {
	splitter := lineSplitter{limit: limit, emit: emit}
	buffer := make([]byte, 16<<10)
	for {
		n, err := r.Read(buffer)
		splitter.write(buffer[:n])
		if err == nil {
			continue
		}
		splitter.end()
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
}

// lineSplitter cuts a stream into lines and keeps one of them.
type lineSplitter struct {
	limit    int
	emit     func(text []byte, cut bool)
	line     []byte
	cut      bool // more than limit came
	begun    bool // there is a line, empty perhaps
	returned bool // it ended in a carriage return: the next byte replaces or confirms it
}

func (s *lineSplitter) write(p []byte) {
	for len(p) > 0 {
		switch p[0] {
		case '\n':
			s.begun = true
			s.end()
			p = p[1:]
		case '\r':
			s.begun, s.returned = true, true
			p = p[1:]
		default:
			n := bytes.IndexAny(p, "\r\n")
			if n < 0 {
				n = len(p)
			}
			s.add(p[:n])
			p = p[n:]
		}
	}
}

func (s *lineSplitter) add(text []byte) {
	if s.returned {
		s.line, s.cut, s.returned = s.line[:0], false, false
	}
	s.begun = true
	// A character more than limit is kept, to see where one begins.
	room := s.limit + utf8.UTFMax - len(s.line)
	if len(text) > room {
		text, s.cut = text[:room], true
	}
	s.line = append(s.line, text...)
}

// end gives the line away, if there is one.
func (s *lineSplitter) end() {
	if s.begun {
		text := s.line
		if len(text) > s.limit {
			text, s.cut = text[:characterStart(text, s.limit)], true
		}
		s.emit(text, s.cut)
	}
	s.line, s.cut, s.begun, s.returned = s.line[:0], false, false, false
}

// characterStart returns the last place not after at where a character of text
// begins; at itself if the bytes around it are no UTF-8.
func characterStart(text []byte, at int) int {
	for start := at; start > 0 && start > at-utf8.UTFMax; start-- {
		if !utf8.RuneStart(text[start]) {
			continue
		}
		if r, size := utf8.DecodeRune(text[start:]); r != utf8.RuneError || size > 1 {
			return start
		}
		return at
	}
	return at
}
