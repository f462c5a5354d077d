package main

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/b1213022/bailiff/internal/strictjson"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
)

// jobLines reads a job with all its fields from each line, as enqueue --from does.
// White space alone is no job.
var jobLines = lineFormat{trim: bytes.TrimSpace, job: parseJobLine}

// jobLine is one line of a file of jobs.
type jobLine struct {
	Kind        string         `json:"kind"`
	Key         string         `json:"key"`
	Payload     jsontext.Value `json:"payload"`
	MaxAttempts *int           `json:"max_attempts"` // nil: not named
	AvailableAt string         `json:"available_at"`
	Priority    int            `json:"priority"`
	Meta        jsontext.Value `json:"meta"`
}

// parseJobLine reads one line strictly: an unknown or doubled field is refused.
func parseJobLine(line []byte) (queue.NewJob, error) {
	var l jobLine
	if !bytes.HasPrefix(line, []byte("{")) {
		return queue.NewJob{}, usage("no JSON object with a kind and a key")
	}
	if err := strictjson.Check(line, queue.MaxPayloadDepth+1); errors.As(err, new(*strictjson.DepthError)) {
		return queue.NewJob{}, usage("a value in it is nested deeper than %d", queue.MaxPayloadDepth)
	} else if err != nil {
		return queue.NewJob{}, brokenLine(line, err)
	}
	if err := json.Unmarshal(line, &l, json.RejectUnknownMembers(true)); err != nil {
		return queue.NewJob{}, lineError(err)
	}
	job := queue.NewJob{
		Kind: l.Kind, Key: l.Key, Payload: l.Payload,
		Priority: l.Priority, Meta: l.Meta,
	}
	if l.MaxAttempts != nil {
		if *l.MaxAttempts < 1 {
			return job, usage("max_attempts %d is out of range: 1 to %d", *l.MaxAttempts, queue.MaxAttemptsLimit)
		}
		job.MaxAttempts = *l.MaxAttempts
	}
	if len(job.Payload) == 0 {
		job.Payload = jsontext.Value(`{}`)
	}
	if string(job.Meta) == "null" {
		job.Meta = nil
	}
	if l.AvailableAt != "" {
		at, err := parseInstant("available_at", l.AvailableAt)
		if err != nil {
			return job, err
		}
		job.AvailableAt = at
	}
	return job, nil
}

// brokenLine says where a line ceases to be JSON; the words of a JSON parser about
// one character help only those who wrote one.
func brokenLine(line []byte, err error) error {
	var found *strictjson.SyntaxError
	if errors.As(err, &found) && strings.HasPrefix(found.Reason, "invalid character") {
		return usage("no JSON from byte %d on: %s", found.Offset, brief(string(line[found.Offset:]), 40))
	}
	return usage("%v", err)
}

// lineFields are the fields of a line and what each of them is.
var lineFields = map[string]string{
	"kind": "a text", "key": "a text", "payload": "JSON", "max_attempts": "a whole number",
	"available_at": "a text", "priority": "a whole number", "meta": "an object",
}

// lineError says what is wrong with a line that is JSON and yet no job.
func lineError(err error) error {
	var found *json.SemanticError
	if !errors.As(err, &found) {
		return usage("%v", err)
	}
	field := found.JSONPointer.LastToken()
	known := slices.Sorted(maps.Keys(lineFields))
	switch {
	case field == "":
		return usage("no JSON object with a kind and a key")
	case lineFields[field] != "":
		return usage("%s: %s is expected", field, lineFields[field])
	}
	if near := config.Nearest(field, known); near != "" {
		return usage("unknown field %q: did you mean %q?", field, near)
	}
	return usage("unknown field %q: known are %s", field, strings.Join(known, ", "))
}
