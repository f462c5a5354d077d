package queue

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of names and numbers, checked alike by every engine, so that the first
// error says which argument was wrong and what it may be. Each wraps ErrInvalid.

// Bounds that hold for several requests.
const (
	MaxID    = 1<<53 - 1 // highest id and fence: every JSON reader keeps it exact
	MaxBatch = 1000      // jobs in one EnqueueMany, wants in one claim, jobs asked for by one want and by one claim

	// MaxRenewals is how many leases one Renew keeps: all that a supervisor has.
	MaxRenewals = 10_000
)

// ValidKind answers nil if kind can name a handler: 1 to 64 of a-z, 0-9, ".", "_"
// and "-", the first a letter or digit.
func ValidKind(kind string) error {
	valid := kind != "" && len(kind) <= MaxKindLength
	for i := 0; i < len(kind) && valid; i++ {
		c := kind[i]
		alphanumeric := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
		valid = alphanumeric || i > 0 && strings.IndexByte("._-", c) >= 0
	}
	if !valid {
		return fmt.Errorf("kind %s: 1 to %d of a-z, 0-9, \".\", \"_\" and \"-\", beginning with a letter or digit: %w",
			quote(kind), MaxKindLength, ErrInvalid)
	}
	return nil
}

// ValidKey answers nil if key is 1 to 255 bytes of UTF-8 without NUL.
func ValidKey(key string) error {
	return validText("key", key, 1, MaxKeyLength)
}

// LooksLikePayload reports whether somebody who typed key most likely meant a
// payload: it begins like a JSON object, array or string, or holds a member. Such
// a key is valid; people are asked before it is taken.
func LooksLikePayload(key string) bool {
	start := strings.TrimLeft(key, " \t\r\n\ufeff")
	return start != "" && strings.IndexByte(`{["`, start[0]) >= 0 ||
		strings.Contains(key, `":`) || strings.Contains(key, `" :`)
}

func validID(id int64) error {
	if id < 1 || id > MaxID {
		return fmt.Errorf("id %d: 1 to %d: %w", id, int64(MaxID), ErrInvalid)
	}
	return nil
}

func validText(what, s string, least, most int) error {
	switch {
	case len(s) < least || len(s) > most:
		return fmt.Errorf("%s %s: %d bytes, %d to %d are allowed: %w", what, quote(s), len(s), least, most, ErrInvalid)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s %s: not valid UTF-8: %w", what, quote(s), ErrInvalid)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("%s %s: holds a NUL byte: %w", what, quote(s), ErrInvalid)
	}
	return nil
}

// inRange answers nil if v is one of least to most.
func inRange[N int | int64](what string, v, least, most N) error {
	if v < least || v > most {
		return fmt.Errorf("%s %d: %d to %d: %w", what, v, least, most, ErrInvalid)
	}
	return nil
}

// quote shows a rejected argument, escaped, once, and short enough for a message.
func quote(s string) string {
	if !utf8.ValidString(s) && len(s) <= 80 {
		return strconv.Quote(s)
	}
	return strconv.Quote(CutText(s, 80))
}
