package queue

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// CheckPayload answers the payload that text stands for: without a byte-order
// mark and the white space around it, otherwise byte for byte as written. It
// wraps ErrInvalid, says what and where, if text is empty, no strict JSON, longer
// than MaxPayload or nested deeper than MaxPayloadDepth. The answer shares text's
// memory.
func CheckPayload(text []byte) (clean []byte, err error) {
	return checkJSON("payload", text, MaxPayload)
}

// CheckMeta is CheckPayload for the meta of a job: an object of at most MaxMeta
// bytes. An empty text is none and answers nil.
func CheckMeta(text []byte) (clean []byte, err error) {
	if len(trim(text)) == 0 {
		return nil, nil
	}
	if clean, err = checkJSON("meta", text, MaxMeta); err != nil {
		return nil, err
	}
	if clean[0] != '{' {
		return nil, fmt.Errorf("meta: an object is expected: %w", ErrInvalid)
	}
	return clean, nil
}

// CheckResult is CheckPayload for the result of a run, of at most MaxResult
// bytes. An empty text is none and answers nil.
func CheckResult(text []byte) (clean []byte, err error) {
	if len(trim(text)) == 0 {
		return nil, nil
	}
	return checkJSON("result", text, MaxResult)
}

func checkJSON(what string, text []byte, most int) ([]byte, error) {
	clean := trim(text)
	switch {
	case len(clean) == 0:
		return nil, fmt.Errorf("%s: empty, where {} would be an empty object: %w", what, ErrInvalid)
	case len(clean) > most:
		return nil, fmt.Errorf("%s: %d bytes, at most %d are allowed: %w", what, len(clean), most, ErrInvalid)
	}
	if err := strictjson.Check(clean, MaxPayloadDepth); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", what, err, ErrInvalid)
	}
	return clean, nil
}

// trim drops a byte-order mark and what JSON takes for white space (RFC 8259 §2).
func trim(text []byte) []byte {
	return bytes.Trim(strictjson.TrimBOM(text), " \t\r\n")
}

// Digest is the SHA-256 of the payload's canonical form: equal for two payloads
// exactly if they are the same to an enqueue that repeats a key. Databases hold
// it, so it never changes. A text that is no strict JSON wraps ErrInvalid.
func Digest(payload []byte) ([32]byte, error) {
	form, err := strictjson.Canonical(payload)
	if err != nil {
		return [32]byte{}, fmt.Errorf("payload: %w: %w", err, ErrInvalid)
	}
	return sha256.Sum256(form), nil
}
