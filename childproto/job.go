package childproto

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Job is what a handler is told of its job.
type Job struct {
	ID             int64 // 1 to MaxID
	Kind           string
	Key            string // the enqueuer's
	IdempotencyKey string // the same in every run of this job, different for every other
	Fence          int64  // names this run; only grows
	Attempt        int    // from 1
	MaxAttempts    int
	DueAt          time.Time      // when it should have run
	TimeoutAt      time.Time      // zero without a timeout; for people
	Timeout        time.Duration  // how long the run may take; zero: no timeout
	Payload        jsontext.Value // the text as it was enqueued
	Meta           jsontext.Value // an object; nil: none
	Effects        []Effect       // recorded by earlier runs
}

// Effect is what earlier runs recorded of one effect.
type Effect struct {
	Name  string
	State string
}

// AppendJob appends to dst the line, line end included, that hands j over to a
// lines child. Payload and meta go through byte for byte, unless they hold a
// line end: then without their white space. Both must be strict JSON and
// everything within the bounds of the queue, or the line may be over MaxLine.
func AppendJob(dst []byte, j *Job) []byte {
	dst = appendHead(dst, TypeJob, j.ID)
	dst = appendString(dst, "kind", j.Kind)
	dst = appendString(dst, "key", j.Key)
	dst = appendString(dst, "idempotency_key", j.IdempotencyKey)
	dst = appendInt(dst, "fence", j.Fence)
	dst = appendInt(dst, "attempt", int64(j.Attempt))
	dst = appendInt(dst, "max_attempts", int64(j.MaxAttempts))
	dst = appendString(dst, "due_at", formatTime(j.DueAt))
	if j.Timeout > 0 {
		dst = appendString(dst, "timeout_at", formatTime(j.TimeoutAt))
		dst = appendInt(dst, "timeout_ms", milliseconds(j.Timeout))
	}
	dst = appendValue(dst, "payload", j.Payload)
	if len(j.Meta) > 0 {
		dst = appendValue(dst, "meta", j.Meta)
	}
	dst = append(dst, `,"effects":[`...)
	for i, e := range j.Effects {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = appendQuote(dst, e.Name)
		dst = appendString(dst, "state", e.State)
		dst = append(dst, '}')
	}
	return append(dst, "]}\n"...)
}
