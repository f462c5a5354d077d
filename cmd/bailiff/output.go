package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/queue"
)

// steers reports whether a terminal might obey r instead of showing it:
// control characters, line separators, and the marks that reorder text.
func steers(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true // direction marks, Unicode Bidirectional Algorithm (UAX 9)
	case r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xe0000 && r <= 0xe007f:
		return true // separators, byte-order mark, tag characters
	}
	return false
}

// escape makes text from a job or handler safe to show on one line: what a
// terminal could obey, and what is no UTF-8, is shown as an escape.
func escape(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || steers(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x100 && steers(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case steers(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case steers(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// brief is escape, cut to at most n characters.
func brief(s string, n int) string {
	s = escape(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n-1]) + "…"
}

// name is how a job is called in sentences: #12 mail/welcome-42.
func name(j *queue.Job) string {
	return fmt.Sprintf("#%d %s/%s", j.ID, escape(j.Kind), escape(j.Key))
}

// answer is stdout. It remembers the first write that failed: what was lost
// must not count as said.
type answer struct {
	out  io.Writer
	lost error
}

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.out.Write(p)
	if err != nil && a.lost == nil {
		a.lost = err
	}
	return n, err
}

// say prints one line for people.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }

// note prints one line beside the answer, where it spoils no pipe.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.errOut, "bailiff: "+format+"\n", args...)
}

// inUTC writes every time in UTC, all of one length.
var inUTC = json.MarshalToFunc(func(e *jsontext.Encoder, t time.Time) error {
	return e.WriteToken(jsontext.String(t.UTC().Format("2006-01-02T15:04:05.000Z07:00")))
})

// validText writes every text as valid UTF-8, which JSON needs: a path is any
// bytes, and is shown with escapes here as it is to people.
var validText = json.MarshalToFunc(func(e *jsontext.Encoder, s string) error {
	return e.WriteToken(jsontext.String(inJSON(s)))
})

// inJSON is a text as validText writes it: what a path is compared with that was
// read from a status file.
func inJSON(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return escape(s)
}

// printJSON prints v as one line of JSON. Numbers and texts that came from a
// job stay as they were written, but nothing in it can steer a terminal.
func (a *app) printJSON(v any) error {
	text, err := json.Marshal(v, jsontext.PreserveRawStrings(true), json.Deterministic(true), json.WithMarshalers(json.JoinMarshalers(inUTC, validText)))
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	if _, err := io.WriteString(a.out, escapeJSON(text)+"\n"); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// escapeJSON writes what escape would escape as \uXXXX. Outside of its strings
// JSON is ASCII, and the control characters of ASCII cannot stand in them, so
// each such character is part of a string and means the same when escaped.
func escapeJSON(text []byte) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range string(text) {
		switch {
		case r >= ' ' && r != 0x7f && !steers(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// table prints rows below their headings, columns aligned.
func (a *app) table(headings string, rows [][]string) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(strings.Fields(headings), "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// times is "once", "2 times".
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// plural is "1 job", "2 jobs".
func plural[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
