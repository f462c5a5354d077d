package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/b1213022/bailiff/childproto"
)

func TestCount(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text                string
		lines, words, bytes int64
	}{
		"nothing":                    {"", 0, 0, 0},
		"no line end":                {"one two", 0, 2, 7},
		"lines":                      {"one\ntwo three\n\n", 3, 3, 15},
		"all white space":            {" \t\v\f\r\n", 1, 0, 6},
		"no-break space":             {"a\u00a0b\u2060c", 0, 3, 8},
		"ideographic space":          {"日\u3000本", 0, 2, 9},
		"a sign alone":               {"→ a", 0, 2, 5},
		"no characters":              {"\xff \xff\xfe a\xffb", 0, 1, 8},
		"controls make no word":      {"\x01 \x02", 0, 0, 3},
		"longer than what is read":   {strings.Repeat("é ", 200_000), 0, 200_000, 600_000},
		"one word, longer than that": {strings.Repeat("日", 200_000), 0, 1, 600_000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := counts{Lines: test.lines, Words: test.words, Bytes: test.bytes}
			for how, r := range map[string]io.Reader{
				"whole":       strings.NewReader(test.text),
				"byte a time": iotest.OneByteReader(strings.NewReader(test.text)),
				"data + EOF":  iotest.DataErrReader(strings.NewReader(test.text)),
			} {
				got, err := count(t.Context(), r, func() {})
				if err != nil || got != want {
					t.Errorf("%s: %+v, %v, want %+v", how, got, err, want)
				}
			}
		})
	}
}

func TestCountStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(&childproto.Cancelled{Reason: childproto.CancelShutdown})
	_, err := count(ctx, strings.NewReader(strings.Repeat("x", 1<<20)), func() {})
	var end *childproto.EndError
	if !errors.As(err, &end) || end.Is != childproto.EndRetry || end.Reason != "cancelled: shutdown" {
		t.Errorf("got %v, want a retry that says why", err)
	}
}
