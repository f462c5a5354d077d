package childproto

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/b1213022/bailiff/internal/strictjson"
)

// plainJob is the job that stdin and the environment tell of, the other side of
// PlainEnv. Without the environment it is a job with a payload and nothing else.
func plainJob(in io.Reader, getenv func(string) string) (*Job, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxLine+1))
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	if len(text) > MaxLine {
		return nil, Dead("payload on stdin: longer than 2 MiB")
	}
	text = bytes.Trim(strictjson.TrimBOM(text), " \t\r\n")
	if err := strictjson.Check(text, MaxDepth); err != nil {
		return nil, Dead("payload on stdin: " + err.Error())
	}
	env := environment{get: getenv}
	job := &Job{
		ID:             env.integer("BAILIFF_JOB_ID"),
		Kind:           getenv("BAILIFF_KIND"),
		Key:            getenv("BAILIFF_KEY"),
		IdempotencyKey: getenv("BAILIFF_IDEMPOTENCY_KEY"),
		Fence:          env.integer("BAILIFF_FENCE"),
		Attempt:        int(env.integer("BAILIFF_ATTEMPT")),
		MaxAttempts:    int(env.integer("BAILIFF_MAX_ATTEMPTS")),
		DueAt:          env.time("BAILIFF_DUE"),
		TimeoutAt:      env.time("BAILIFF_TIMEOUT_AT"),
		Payload:        text,
	}
	if meta := getenv("BAILIFF_META"); meta != "" && meta != "{}" {
		job.Meta = []byte(meta)
	}
	if !job.TimeoutAt.IsZero() { // what is left of it
		job.Timeout = max(time.Until(job.TimeoutAt), time.Millisecond)
	}
	return job, env.err
}

// environment reads variables and keeps the first error; one that is not there
// is zero.
type environment struct {
	get func(string) string
	err error
}

func (e *environment) integer(name string) int64 {
	n, err := strconv.ParseInt(e.get(name), 10, 64)
	e.check(name, err)
	return n
}

func (e *environment) time(name string) time.Time {
	t, err := time.Parse(time.RFC3339, e.get(name))
	e.check(name, err)
	return t
}

func (e *environment) check(name string, err error) {
	if err != nil && e.err == nil && e.get(name) != "" {
		e.err = fmt.Errorf("read %s: %w", name, err)
	}
}
