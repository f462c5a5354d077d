package childproto_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/childproto"
)

// FuzzParseMessage: whatever the line, there is a message or a printable error,
// never both; and a message that is written again reads the same.
func FuzzParseMessage(f *testing.F) {
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := childproto.ParseMessage(line)
		if err != nil {
			checkProtocolError(t, err)
			if !reflect.DeepEqual(m, childproto.Message{}) {
				t.Fatalf("a message beside the error %v: %+v", err, m)
			}
			return
		}
		if !jsontext.Value(line).IsValid() {
			t.Fatalf("taken as %+v, but it is no JSON", m)
		}
		if m.After != nil && (*m.After < 0 || *m.After > childproto.MaxAfter) {
			t.Fatalf("a delay of %v", *m.After)
		}
		if m.Percent != nil && !(*m.Percent >= 0 && *m.Percent <= 100) {
			t.Fatalf("%v percent", *m.Percent)
		}
		written := childproto.AppendMessage(nil, &m)
		if bytes.Count(written, []byte("\n")) != 1 {
			t.Fatalf("written in several lines: %q", written)
		}
		again, err := childproto.ParseMessage(bytes.TrimSuffix(written, []byte("\n")))
		if err != nil {
			t.Fatalf("written as %q it is refused: %v", written, err)
		}
		if again.Type != m.Type || again.ID != m.ID || again.Reason != m.Reason || again.Name != m.Name || again.Text != m.Text {
			t.Fatalf("written as %q it became %+v, was %+v", written, again, m)
		}
	})
}

// FuzzParseOutcomeFile: an outcome, nothing for an empty file, or an error.
func FuzzParseOutcomeFile(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := childproto.ParseOutcomeFile(text, 17)
		switch {
		case err != nil:
			checkProtocolError(t, err)
		case o == nil:
			if len(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) > 0 {
				t.Fatalf("%q taken as empty", text)
			}
		case len(o.Result) > childproto.MaxResult:
			t.Fatalf("a result of %d bytes", len(o.Result))
		case o.Is == childproto.EndSnooze && o.After == nil:
			t.Fatal("a snooze without a delay")
		}
	})
}

func checkProtocolError(t *testing.T, err error) {
	t.Helper()
	var protocol *childproto.ProtocolError
	if !errors.As(err, &protocol) {
		t.Fatalf("%v is no *ProtocolError", err)
	}
	for _, r := range err.Error() {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			t.Fatalf("an error that is not printable: %q", err)
		}
	}
}

// FuzzReader: however the stream is cut into reads, the lines are the same, and
// nothing of a whole line is lost.
func FuzzReader(f *testing.F) {
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole := readAll(t, bytes.NewReader(stream))
		if parts := readAll(t, iotest.OneByteReader(bytes.NewReader(stream))); !reflect.DeepEqual(parts, whole) {
			t.Fatalf("byte by byte %s\nat once %s", show(parts), show(whole))
		}
		stream = bytes.TrimPrefix(stream, []byte("\xef\xbb\xbf"))
		for i, line := range whole {
			last := i == len(whole)-1
			if line.Partial && !last {
				t.Fatalf("line %d has no end, yet there is another", i)
			}
			raw, rest, found := bytes.Cut(stream, []byte("\n"))
			text := raw
			if found {
				text = bytes.TrimSuffix(raw, []byte("\r"))
			}
			if line.Cut || line.TooLong {
				text = text[:len(line.Text)]
			} else if found == line.Partial {
				t.Fatalf("line %d: Partial is %v", i, line.Partial)
			}
			if !bytes.Equal(line.Text, text) {
				t.Fatalf("line %d is %q, want %q", i, line.Text, text)
			}
			stream = rest
		}
		if len(stream) > 0 {
			t.Fatalf("%q is left over at %v", stream, io.EOF)
		}
	})
}
