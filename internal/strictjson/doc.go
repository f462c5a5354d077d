// Package strictjson is the one strict reader of JSON that both sides of a queue
// use: what enqueues and what talks to handlers. A text is one value of RFC 8259
// in valid UTF-8, without a name twice in one object, without half a surrogate
// pair, without NaN or Infinity, and without anything after it.
//
// Numbers are never computed with. They stay as they were written, because
// 12345678901234567890 read as a float is another number, and 1.0 may mean
// something else than 1 to whoever wrote it.
//
// The package knows nothing of jobs, messages and size limits.
package strictjson

import "bytes"

// TrimBOM drops the byte-order mark that some editors and shells put before a
// text. It belongs at the start of a file or a stream; elsewhere it is no JSON.
func TrimBOM(text []byte) []byte {
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
}
