package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError says why a text is not strict JSON, and where.
type SyntaxError struct {
	Offset  int64  // bytes before the place
	Pointer string // RFC 6901 pointer to the value it lies in; empty at the top
	Reason  string // in words
}

// Error names the reason, the byte and, below the top, the value it lies in.
func (e *SyntaxError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("%s (byte %d)", e.Reason, e.Offset)
	}
	return fmt.Sprintf("%s (byte %d, in %s)", e.Reason, e.Offset, readable(e.Pointer))
}

// DepthError says that a text nests more arrays and objects than was allowed.
// Whether the rest of it is JSON was not looked at.
type DepthError struct {
	Limit  int
	Offset int64 // bytes before the first bracket too many
}

// Error names the limit and the byte.
func (e *DepthError) Error() string {
	return fmt.Sprintf("nested deeper than %d (byte %d)", e.Limit, e.Offset)
}

// syntaxError turns what the decoder found in text into words of our own where
// its words need a JSON parser's author to be understood.
func syntaxError(text []byte, err error) error {
	var found *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		return &SyntaxError{Offset: int64(len(text)), Reason: "empty: a JSON value is expected"}
	case !errors.As(err, &found):
		return err
	}
	rest := text[min(found.ByteOffset, int64(len(text))):]
	e := &SyntaxError{Offset: found.ByteOffset, Pointer: string(found.JSONPointer), Reason: found.Err.Error()}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.Reason = fmt.Sprintf("the name %s stands twice in one object", strconv.Quote(cut(found.JSONPointer.LastToken())))
		e.Pointer = string(found.JSONPointer.Parent())
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Reason = "it ends in the middle of a value"
	case halfPair(rest):
		e.Reason = "half a surrogate pair: " + string(rest[:6])
	case bytes.HasPrefix(rest, []byte("NaN")), bytes.HasPrefix(rest, []byte("Infinity")):
		e.Reason = "JSON has no NaN and no Infinity"
	}
	return e
}

// halfPair reports whether text begins with the escape of a UTF-16 surrogate.
func halfPair(text []byte) bool {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return err == nil && unit >= 0xD800 && unit <= 0xDFFF
}

// readable shortens a pointer or a name for a sentence and escapes what would
// not show or would do something to a terminal.
func readable(s string) string {
	quoted := strconv.Quote(cut(s))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// cut keeps the first 100 bytes of s, whole characters only.
func cut(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	end := most
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
