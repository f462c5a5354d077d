package childproto

import (
	"bytes"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// appendHead begins a message about a job.
func appendHead(dst []byte, t Type, id int64) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, t...)
	return appendInt(append(dst, '"'), "id", id)
}

func appendName(dst []byte, name string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	return append(dst, `":`...)
}

func appendInt(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendName(dst, name), n, 10)
}

func appendString(dst []byte, name, s string) []byte {
	return appendQuote(appendName(dst, name), s)
}

// appendQuote appends s as JSON; what is no UTF-8 in it becomes U+FFFD.
func appendQuote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // its error tells of U+FFFD alone
	return dst
}

// appendValue appends a JSON text, which is the only thing that can hold a line
// end: strings escape theirs.
func appendValue(dst []byte, name string, v jsontext.Value) []byte {
	dst = appendName(dst, name)
	if bytes.IndexByte(v, '\n') < 0 {
		return append(dst, v...)
	}
	return strictjson.Compact(dst, v)
}

// milliseconds is d, rounded up so that a limit is never told too short.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// formatTime is RFC 3339 in UTC, with milliseconds unless they are zero.
func formatTime(t time.Time) string {
	t = t.UTC().Truncate(time.Millisecond)
	if t.Nanosecond() == 0 {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000Z")
}

// appendFloat appends n, which must be finite.
func appendFloat(dst []byte, name string, n float64) []byte {
	return jsontext.AppendFloat(appendName(dst, name), n, 64)
}
