package queue

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Keys that outside systems remember. They are derived and stored nowhere, so
// their derivation is part of the promise: it never changes.

// IdempotencyKey is what a handler hands to an outside system so that this system
// does one job's work once: the same in every run of the job, after a requeue and
// after a restore, and different for every other job of any queue. 32 hex digits.
func IdempotencyKey(queueID [16]byte, kind, key string) string {
	return derive("bailiff job", queueID[:], []byte(kind), []byte(key))
}

// EffectKey is the same for one effect of the job that has jobKey. It changes
// only when the effect was voided, because then it may be begun anew; voids is how
// often that was. 32 hex digits.
func EffectKey(jobKey, name string, voids int) string {
	count := binary.BigEndian.AppendUint64(nil, uint64(voids))
	return derive("bailiff effect", []byte(jobKey), []byte(name), count)
}

// derive is the first half of the SHA-256 of the parts, each after its length, so
// that no two lists of parts give the same bytes. The purpose is one of them: a
// job's key is never an effect's.
func derive(purpose string, parts ...[]byte) string {
	h := sha256.New()
	for _, part := range append([][]byte{[]byte(purpose)}, parts...) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
