package childproto_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/b1213022/bailiff/childproto"
)

// readAll reads r to its end; the lines' texts are copies.
func readAll(t *testing.T, r io.Reader) []childproto.Line {
	t.Helper()
	var lines []childproto.Line
	reader := childproto.NewReader(r)
	for {
		line, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		line.Text = bytes.Clone(line.Text)
		if line.Text == nil {
			line.Text = []byte{}
		}
		lines = append(lines, line)
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	message := func(size int) string { return "{" + strings.Repeat("x", size-1) }
	text := func(s string) []byte { return []byte(s) }
	const most, kept, tooLong = childproto.MaxLine, 8 << 10, 1 << 10
	tests := map[string]struct {
		in   string
		want []childproto.Line
	}{
		"nothing":            {"", nil},
		"message":            {"{}\n", []childproto.Line{{Text: text("{}")}}},
		"CR LF":              {"{}\r\nprint\r\n", []childproto.Line{{Text: text("{}")}, {Text: text("print"), Stray: true}}},
		"two in one read":    {"{1}\n{2}\n", []childproto.Line{{Text: text("{1}")}, {Text: text("{2}")}}},
		"prints around":      {"Loading…\n{}\nbye\n", []childproto.Line{{Text: text("Loading…"), Stray: true}, {Text: text("{}")}, {Text: text("bye"), Stray: true}}},
		"empty line":         {"\n", []childproto.Line{{Text: text(""), Stray: true}}},
		"white space first":  {" {}\n", []childproto.Line{{Text: text(" {}"), Stray: true}}},
		"no line end":        {"{}\n{\"type\":\"done\"}", []childproto.Line{{Text: text("{}")}, {Text: text(`{"type":"done"}`), Partial: true}}},
		"stray, no line end": {"oops", []childproto.Line{{Text: text("oops"), Stray: true, Partial: true}}},
		"byte-order mark":    {"\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n", []childproto.Line{{Text: text("{}")}, {Text: text("\xef\xbb\xbf{}"), Stray: true}}},
		"short first line":   {"a\n\xef\xbb\xbf{}\n", []childproto.Line{{Text: text("a"), Stray: true}, {Text: text("\xef\xbb\xbf{}"), Stray: true}}},
		"longest":            {message(most) + "\n{}\n", []childproto.Line{{Text: text(message(most))}, {Text: text("{}")}}},
		"longest, CR LF":     {message(most) + "\r\n{}\n", []childproto.Line{{Text: text(message(most))}, {Text: text("{}")}}},
		"too long":           {message(most+1) + "\n{}\n", []childproto.Line{{Text: text(message(tooLong)), TooLong: true}, {Text: text("{}")}}},
		"far too long":       {message(3*most) + "\n{}\n", []childproto.Line{{Text: text(message(tooLong)), TooLong: true}, {Text: text("{}")}}},
		"too long, no end":   {message(3 * most), []childproto.Line{{Text: text(message(tooLong)), TooLong: true}}},
		"long print":         {strings.Repeat("x", kept) + "\n", []childproto.Line{{Text: text(strings.Repeat("x", kept)), Stray: true}}},
		"longer print":       {strings.Repeat("x", kept+1) + "\n{}\n", []childproto.Line{{Text: text(strings.Repeat("x", kept)), Stray: true, Cut: true}, {Text: text("{}")}}},
		"endless print":      {strings.Repeat("x", 3*most) + "\n{}\n", []childproto.Line{{Text: text(strings.Repeat("x", kept)), Stray: true, Cut: true}, {Text: text("{}")}}},
		"cut at a character": {strings.Repeat("x", kept-1) + "€\n{}\n", []childproto.Line{{Text: text(strings.Repeat("x", kept-1)), Stray: true, Cut: true}, {Text: text("{}")}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{
				"whole":       strings.NewReader(test.in),
				"data + EOF":  iotest.DataErrReader(strings.NewReader(test.in)),
				"half":        iotest.HalfReader(strings.NewReader(test.in)),
				"byte a time": iotest.OneByteReader(strings.NewReader(test.in)),
			} {
				if how == "byte a time" && len(test.in) > most/2 {
					continue // the same code, for minutes
				}
				if got := readAll(t, r); !reflect.DeepEqual(got, test.want) {
					t.Errorf("%s: got %s\nwant %s", how, show(got), show(test.want))
				}
			}
		})
	}
}

// show is lines short enough to read.
func show(lines []childproto.Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%.40q (%d bytes) %+v\n", l.Text, len(l.Text), childproto.Line{Stray: l.Stray, TooLong: l.TooLong, Cut: l.Cut, Partial: l.Partial})
	}
	return b.String()
}

// timesOut is out of time once between two parts.
type timesOut struct{ parts []string }

func (r *timesOut) Read(p []byte) (int, error) {
	if len(r.parts) == 0 {
		return 0, io.EOF
	}
	part := r.parts[0]
	r.parts = r.parts[1:]
	if part == "" {
		return 0, os.ErrDeadlineExceeded
	}
	return copy(p, part), nil
}

func TestReaderGoesOnAfterDeadline(t *testing.T) {
	t.Parallel()
	r := childproto.NewReader(&timesOut{[]string{`{"type":`, "", `"alive"}` + "\n"}})
	if line, err := r.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("Next() = %q, %v, want a deadline exceeded", line.Text, err)
	}
	if line, err := r.Next(); err != nil || string(line.Text) != `{"type":"alive"}` {
		t.Errorf("Next() = %q, %v, want the whole line", line.Text, err)
	}
}

// zeros is endless.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.left <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), z.left)
	clear(p[:n])
	z.left -= n
	return n, nil
}

// Not parallel: it measures what is allocated meanwhile.
func TestReaderMemoryIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := childproto.NewReader(&zeros{left: 1 << 30})
	for {
		if _, err := r.Next(); err != nil {
			break
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("reading 1 GiB without a line end allocated %d bytes, want at most 1 MiB", got)
	}
}
