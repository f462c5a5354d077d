// Package childproto is the wire between bailiff and a handler, version 1: the
// messages that cross a child's stdin and stdout under the "lines" protocol,
// the environment, outcome file and exit statuses of the "plain" protocol, and
// [Serve], which speaks either for a handler written in Go. docs/protocol.md
// tells the same to authors in any language.
//
// Decoding is strict: what is not exactly a message is a [ProtocolError] and
// never half of one. The package refuses to know queues, leases and processes;
// what an outcome leads to is decided elsewhere.
package childproto

import "time"

// Version is the protocol's number, said by a child's ready message and by
// BAILIFF_PROTOCOL_VERSION.
const Version = 1

// Bounds of what crosses the wire.
const (
	MaxLine        = 2 << 20  // bytes of one line, its line end not counted
	MaxDepth       = 50       // nested arrays and objects of a value in a message
	MaxResult      = 1 << 20  // bytes of JSON text; a longer result is dropped, the job is done all the same
	MaxReason      = 1 << 10  // bytes kept of a reason
	MaxEffectName  = 128      // bytes
	MaxReceipt     = 64 << 10 // bytes of JSON text
	MaxOutcomeFile = 2 << 20  // bytes
	MaxID          = 1<<53 - 1

	// MaxAfter is the longest delay a handler may ask for.
	MaxAfter = 10 * 365 * 24 * time.Hour
)
