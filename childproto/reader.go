package childproto

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/b1213022/bailiff/internal/strictjson"
)

const (
	readChunk   = 16 << 10 // what a Reader holds while lines are short
	strayKept   = 8 << 10  // bytes kept of a stray line
	tooLongKept = 1 << 10  // bytes kept of a message over MaxLine
)

// Reader cuts a child's stdout into lines. Lines end with LF or CR LF; a
// byte-order mark before the first is dropped.
//
// It needs little memory whatever the child writes: 16 KiB while lines are
// short, 16 KiB more than MaxLine while a message is that long, and what a long
// one took is given back with the next. What is cut off a line is read to its
// end and dropped, so that the line after it is found.
//
// A Reader belongs to one goroutine.
type Reader struct {
	r       io.Reader
	buf     []byte // read and not yet given out is buf[start:]
	start   int
	scanned int  // bytes of buf[start:] known to hold no LF
	skip    bool // the line at buf[start:] was given out in part: drop its rest
	begun   bool // the first bytes were looked at for a byte-order mark
	err     error
}

// Line is one line of a child's stdout.
type Line struct {
	Text    []byte // without its line end; valid until Next is called again
	Stray   bool   // does not begin with {: a print, for the log
	TooLong bool   // begins with { and is over MaxLine: Text is its beginning, 1 KiB
	Cut     bool   // a stray line of which Text is the beginning, 8 KiB
	Partial bool   // the stream ended before the line did: it is no message; not told of a cut one
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Next returns the next line, and io.EOF after the last. A message over MaxLine
// and a stray line over 8 KiB are given out as soon as that is known.
//
// Any other error is r's own. It loses nothing: where r was only out of time
// (os.ErrDeadlineExceeded), calling Next again goes on where it stopped.
func (r *Reader) Next() (Line, error) {
	r.shrink()
	for {
		if text, ok := r.takeLine(); ok {
			if r.skip {
				r.skip = false
				continue
			}
			return whole(text), nil
		}
		if r.skip {
			r.start, r.scanned = len(r.buf), 0
		} else if line, ok := r.tooLong(); ok {
			return line, nil
		}
		if err := r.fill(); err != nil {
			if !errors.Is(err, io.EOF) {
				return Line{}, err
			}
			return r.last()
		}
	}
}

// takeLine takes the first whole line out of the buffer.
func (r *Reader) takeLine() ([]byte, bool) {
	rest := r.buf[r.start:]
	n := bytes.IndexByte(rest[r.scanned:], '\n')
	if n < 0 {
		r.scanned = len(rest)
		return nil, false
	}
	n += r.scanned
	r.begun = true
	r.start, r.scanned = r.start+n+1, 0
	return bytes.TrimSuffix(rest[:n], []byte("\r")), true
}

// whole is a line that stands in the buffer with its end.
func whole(text []byte) Line {
	switch {
	case !isMessage(text):
		kept := beginning(text, strayKept)
		return Line{Text: kept, Stray: true, Cut: len(kept) < len(text)}
	case len(text) > MaxLine:
		return Line{Text: beginning(text, tooLongKept), TooLong: true}
	}
	return Line{Text: text}
}

// beginning is at most the first most bytes of text, cut at a character.
func beginning(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func isMessage(text []byte) bool { return len(text) > 0 && text[0] == '{' }

// tooLong gives out the line that the buffer begins with if it is known to be
// over its bound before its end has come. Its last byte may be the CR of its end.
func (r *Reader) tooLong() (Line, bool) {
	rest := r.buf[r.start:]
	switch {
	case isMessage(rest) && len(rest) > MaxLine+1:
		r.skip = true
		return Line{Text: beginning(rest, tooLongKept), TooLong: true}, true
	case len(rest) > strayKept+1 && !isMessage(rest):
		r.skip = true
		return Line{Text: beginning(rest, strayKept), Stray: true, Cut: true}, true
	}
	return Line{}, false
}

// last is what is left when the stream has ended.
func (r *Reader) last() (Line, error) {
	rest := r.buf[r.start:]
	r.start, r.scanned = len(r.buf), 0
	if len(rest) == 0 {
		return Line{}, io.EOF
	}
	line := whole(rest)
	line.Partial = !line.Cut && !line.TooLong
	return line, nil
}

// fill reads once, having made room.
func (r *Reader) fill() error {
	if r.err != nil {
		return r.err
	}
	if r.start > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.start:])]
		r.start = 0
	}
	if len(r.buf) == cap(r.buf) {
		grown := make([]byte, len(r.buf), max(min(2*cap(r.buf), MaxLine+readChunk), readChunk))
		copy(grown, r.buf)
		r.buf = grown
	}
	n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	if !r.begun && len(r.buf) >= 3 {
		r.begun = true
		r.start, r.scanned = len(r.buf)-len(strictjson.TrimBOM(r.buf)), 0
	}
	switch {
	case n > 0 && errors.Is(err, io.EOF):
		r.err = err // told with the next call
	case n == 0:
		return err
	}
	return nil
}

// shrink gives back what a long line took, once it is dealt with.
func (r *Reader) shrink() {
	rest := r.buf[r.start:]
	if cap(r.buf) <= readChunk || len(rest) > readChunk {
		return
	}
	r.buf = append(make([]byte, 0, readChunk), rest...)
	r.start = 0
}
