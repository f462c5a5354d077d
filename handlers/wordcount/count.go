package main

import (
	"bytes"
	"context"
	"io"
	"unicode"
	"unicode/utf8"

	"github.com/b1213022/bailiff/childproto"
)

// counts is what wc prints.
type counts struct {
	Lines int64 `json:"lines"` // newlines
	Words int64 `json:"words"` // runs between white space that show at least one character
	Bytes int64 `json:"bytes"`
}

// count reads r to its end, a part at a time. After each full part it calls alive
// and looks whether ctx has ended: stopping there does no harm, so it is a retry.
func count(ctx context.Context, r io.Reader, alive func()) (counts, error) {
	var c counter
	buf := make([]byte, 256<<10)
	kept := 0 // bytes at the start of buf: a character that the last part cut
	for {
		n, err := r.Read(buf[kept:])
		c.Bytes += int64(n)
		c.Lines += int64(bytes.Count(buf[kept:kept+n], []byte{'\n'}))
		end := err == io.EOF
		rest := c.words(buf[:kept+n], end)
		full := kept+n == len(buf)
		kept = copy(buf, rest)
		switch {
		case end:
			return c.counts, nil
		case err != nil:
			return counts{}, err
		case ctx.Err() != nil:
			return counts{}, childproto.Retry(context.Cause(ctx).Error())
		case full:
			alive()
		}
	}
}

// counter counts words across parts of a text.
type counter struct {
	counts
	inWord bool
}

// words counts the words of text and returns the character that it may have cut
// at its end; at the end of the input there is none.
func (c *counter) words(text []byte, end bool) []byte {
	for len(text) > 0 {
		if !end && text[0] >= utf8.RuneSelf && !utf8.FullRune(text) {
			return text
		}
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		switch {
		case r == utf8.RuneError && size == 1: // no character: neither ends a word nor makes one
		case unicode.IsSpace(r) || r == wordJoiner:
			c.inWord = false
		case !unicode.IsControl(r) && !c.inWord:
			c.inWord = true
			c.Words++
		}
	}
	return nil
}

// wordJoiner is a space to wc, though not to Unicode (coreutils, src/wc.c).
const wordJoiner = '\u2060'
