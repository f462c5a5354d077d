package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/schollz/progressbar/v3"

	"github.com/b1213022/bailiff/internal/strictjson"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor/config"
)

// Bounds of one chunk, which is a transaction or two, and of a line. They bound the
// memory of an import of any size.
const (
	chunkJobs  = 1000    // what EnqueueMany takes
	chunkBytes = 8 << 20 // of lines; a line above it is a chunk of its own
	maxLine    = 8 << 20 // a payload of the largest size, all of it escaped, fits
)

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

// imported counts what became of the lines.
type imported struct {
	Created  int64 `json:"created"`
	Existing int64 `json:"existing"`
	Refused  int64 `json:"refused"`
}

// enqueueFrom puts the jobs of a file in, chunk by chunk.
func (a *app) enqueueFrom(ctx context.Context, path string) error {
	file, size := a.in, int64(-1)
	if path != "-" {
		opened, err := a.in.open(path)
		switch {
		case errors.As(err, new(stopped)):
			return fmt.Errorf("read %s: %w", path, err)
		case err != nil:
			return advise(usage("--from: %v", err), "- reads from stdin")
		}
		defer opened.Close()
		if info, err := opened.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		file.from = opened
	}
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(a.errOut),
		progressbar.OptionSetDescription("enqueue"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(isTerminal(a.errOut)),
	)
	var count imported
	err := a.withQueue(ctx, func(q *sqlite.Queue) error {
		s, _ := a.service()
		a.noteOtherDatabase(s, q, "goes to")
		im := importer{app: a, q: q, bar: bar, count: &count}
		return advise(im.run(ctx, file), "run the same command again when that is mended: nothing is added twice")
	})
	_ = bar.Finish()
	if a.json {
		err = errors.Join(err, a.printJSON(count))
	} else {
		a.say("%s accepted, %d already there, %d refused", plural(count.Created, "job"), count.Existing, count.Refused)
	}
	if err == nil && count.Refused > 0 {
		return &endedError{exitFailed}
	}
	return err
}

// importer collects lines into chunks.
type importer struct {
	app   *app
	q     *sqlite.Queue
	bar   *progressbar.ProgressBar
	count *imported

	jobs  []queue.NewJob
	lines []int64 // the line of each job
	bytes int
}

func (im *importer) run(ctx context.Context, file io.Reader) error {
	in := bufio.NewReaderSize(file, 64<<10)
	for number := int64(1); ; number++ {
		line, size, err := readLine(in)
		if err != nil && err != io.EOF {
			return errors.Join(im.flush(ctx), fmt.Errorf("read line %d: %w", number, err))
		}
		if size > 0 {
			im.take(number, line, size)
		}
		if len(im.jobs) == chunkJobs || im.bytes >= chunkBytes || err == io.EOF {
			if err := im.flush(ctx); err != nil {
				return err
			}
		}
		_ = im.bar.Add(size)
		if err == io.EOF {
			return nil
		}
	}
}

// take parses one line. White space alone is no job.
func (im *importer) take(number int64, line []byte, size int) {
	if number == 1 {
		line = strictjson.TrimBOM(line)
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return
	}
	if size > maxLine {
		im.refuse(number, usage("longer than %d bytes", maxLine))
		return
	}
	job, err := parseJobLine(line)
	if err != nil {
		im.refuse(number, err)
		return
	}
	im.jobs = append(im.jobs, job)
	im.lines = append(im.lines, number)
	im.bytes += len(line)
}

// flush enqueues the chunk.
func (im *importer) flush(ctx context.Context) error {
	if len(im.jobs) == 0 {
		return nil
	}
	results, err := im.q.EnqueueMany(ctx, im.jobs)
	if err != nil {
		return fmt.Errorf("lines %d to %d: %w", im.lines[0], im.lines[len(im.lines)-1], err)
	}
	for i, r := range results {
		switch {
		case r.Err != nil && (errors.Is(r.Err, queue.ErrInvalid) || errors.Is(r.Err, queue.ErrConflict)):
			im.refuse(im.lines[i], r.Err)
		case r.Err != nil:
			return fmt.Errorf("line %d: %w", im.lines[i], r.Err)
		case r.Created:
			im.count.Created++
		default:
			im.count.Existing++
		}
	}
	im.jobs, im.lines, im.bytes = im.jobs[:0], im.lines[:0], 0
	return nil
}

// refuse names a bad line and goes on.
func (im *importer) refuse(number int64, err error) {
	im.count.Refused++
	_ = im.bar.Clear()
	im.app.note("line %d: %s", number, strings.Join(sentences(err), "; "))
}

// parseJobLine reads one line strictly: an unknown or doubled field is refused.
func parseJobLine(line []byte) (queue.NewJob, error) {
	var l jobLine
	if err := strictjson.Check(line, queue.MaxPayloadDepth+1); errors.As(err, new(*strictjson.DepthError)) {
		return queue.NewJob{}, usage("a value in it is nested deeper than %d", queue.MaxPayloadDepth)
	} else if err != nil {
		return queue.NewJob{}, usage("%v", err)
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
		return usage("a line is one JSON object with a kind and a key")
	case lineFields[field] != "":
		return usage("%s: %s is expected", field, lineFields[field])
	}
	if near := config.Nearest(field, known); near != "" {
		return usage("unknown field %q: did you mean %q?", field, near)
	}
	return usage("unknown field %q: known are %s", field, strings.Join(known, ", "))
}

// readLine answers the next line, its end included in size. Of a line over
// maxLine only the beginning is kept. At the end of the file it answers what is
// left with io.EOF.
func readLine(in *bufio.Reader) (line []byte, size int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return line, size, err
		}
	}
}
