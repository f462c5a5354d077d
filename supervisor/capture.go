package supervisor

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/childproto"
)

// capture keeps the beginning of a plain handler's stdout: as much as a result
// may have, and two bytes more, for a newline and to tell that it was longer.
type capture struct {
	text    []byte
	dropped int64 // bytes that were not kept
}

func (c *capture) Write(p []byte) (int, error) {
	room := min(len(p), childproto.MaxResult+2-len(c.text))
	c.text = append(c.text, p[:room]...)
	c.dropped += int64(len(p) - room)
	return len(p), nil
}

// beginsResult reports whether text, the beginning of a longer stdout, can be
// that of a result: of one strict JSON value.
func beginsResult(text []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	for values := 0; values < 2; {
		_, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return values == 1 // white space alone is none
		case errors.Is(err, io.ErrUnexpectedEOF):
			return values == 0
		case err != nil || d.StackDepth() > childproto.MaxDepth:
			return false
		case d.StackDepth() == 0:
			values++
		}
	}
	return false
}
