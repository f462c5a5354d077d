package queue

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// Clock is what an engine and a supervisor know of time. Wall time is for due
// times and for people; leases live on the machine's monotonic clock, which no
// step of the wall clock moves and which stands still while the machine sleeps.
type Clock interface {
	// Now is the wall clock.
	Now() time.Time
	// Mono is CLOCK_MONOTONIC less the time namespace's offset: the same in
	// every process of one boot.
	Mono() time.Duration
	// Boot identifies the boot that Mono counts from; empty if unknown.
	Boot() string
}

// Token names one lease; who has it can settle the job. It is a capability:
// never logged, never in an argument list, and printed by nothing but a claim.
type Token [16]byte

// NewToken returns 128 random bits.
func NewToken() Token {
	var t Token
	_, _ = rand.Read(t[:]) // crypto/rand.Read never fails: it ends the program instead
	return t
}

// Text is the token as a person or script passes it back, 32 hex digits. It is
// not named String so that no formatting verb prints a token by accident.
func (t Token) Text() string { return hex.EncodeToString(t[:]) }

// String hides the token.
func (t Token) String() string { return "[token]" }

// GoString hides the token.
func (t Token) GoString() string { return "[token]" }

// ParseToken reads what Text wrote.
func ParseToken(s string) (Token, error) {
	var t Token
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(t) {
		return t, fmt.Errorf("token: 32 hex digits expected: %w", ErrInvalid)
	}
	copy(t[:], b)
	return t, nil
}

// Lease is the right to work on a job until Deadline.
type Lease struct {
	Token    Token
	Fence    int64
	Length   time.Duration // what a renewal adds to the moment it is made
	Deadline time.Duration // a reading of Clock.Mono
}

// Margin is how long before the deadline the holder starts killing, and how
// long after it others may expire the lease: 10 % of the length, at least
// 250 ms. It absorbs what a kill takes and what two readings differ by.
func Margin(length time.Duration) time.Duration {
	return max(length/10, 250*time.Millisecond)
}

// Rule is what decides about a run that nobody settles. It is stored with the
// lease, so that whoever expires it decides as the holder would have.
type Rule struct {
	MaxAttempts int // the handler's attempt limit; 0: DefaultMaxAttempts. The enqueuer's comes first
	Uncertain   UncertainRule
}

// UncertainRule says what is known about a run without a known outcome.
type UncertainRule string

const (
	// UncertainAsk: nothing is known; a person decides.
	UncertainAsk UncertainRule = "ask"
	// UncertainRepeatable: running it twice does no harm. At the attempt limit
	// the outcome is still not known: quarantined.
	UncertainRepeatable UncertainRule = "repeatable"
	// UncertainJournal: the handler announces every effect, so a run without an
	// open effect did nothing that matters. At the attempt limit: dead.
	UncertainJournal UncertainRule = "journal"
	// UncertainRetry: as if the worker had said retry; for leases claimed by
	// hand for a kind without a handler.
	UncertainRetry UncertainRule = "retry"
)

// Owner says whose children work under a lease, for early recovery: the random
// id of a guardian and the number of its start. The zero Owner is a lease
// claimed by hand, which ends by its deadline alone.
type Owner struct {
	Guardian string
	Start    int64
}
