package childproto

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// ProtocolError says in words what is wrong with what a handler said. It is
// printable: control characters and broken UTF-8 of the handler are escaped.
type ProtocolError struct {
	Problem string // what is wrong
	Offset  int    // of the place, in bytes from the start of the text
	Near    string // the text around the place, escaped; empty if there is none
}

// Error tells the problem and quotes the place.
func (e *ProtocolError) Error() string {
	if e.Near == "" {
		return e.Problem
	}
	return fmt.Sprintf("%s, near %s", e.Problem, e.Near)
}

// errorAt is a problem at a byte of text.
func errorAt(text []byte, offset int, format string, args ...any) *ProtocolError {
	offset = min(offset, len(text))
	return &ProtocolError{Problem: fmt.Sprintf(format, args...), Offset: offset, Near: excerpt(text, offset)}
}

// notJSON is what strictjson found in text.
func notJSON(text []byte, err error) *ProtocolError {
	var depth *strictjson.DepthError
	var syntax *strictjson.SyntaxError
	switch {
	case errors.As(err, &depth):
		return errorAt(text, int(depth.Offset), "a value nested deeper than %d", MaxDepth)
	case errors.As(err, &syntax):
		return errorAt(text, int(syntax.Offset), "not strict JSON: %v", err)
	}
	return &ProtocolError{Problem: fmt.Sprintf("not strict JSON: %v", err)}
}

// excerpt is what stands around a byte of text: up to 40 bytes before it and 24
// from it on.
func excerpt(text []byte, offset int) string {
	const before, after = 40, 24
	from, to := max(offset-before, 0), min(offset+after, len(text))
	for from > 0 && from < offset && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > offset && !utf8.RuneStart(text[to]) {
		to--
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	b.WriteString(escape(text[from:to]))
	if to < len(text) {
		b.WriteString("…")
	}
	return b.String()
}

// escape shows what is not printable as Go's escapes, so that it neither hides
// nor does something to a terminal. Quotation marks stay as they are.
func escape(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		text = text[size:]
	}
	return b.String()
}
