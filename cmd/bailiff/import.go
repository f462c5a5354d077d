package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/schollz/progressbar/v3"

	"github.com/b1213022/bailiff/internal/strictjson"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// Bounds of one chunk, which is a transaction or two, and of a line. They bound the
// memory of an import of any size.
const (
	chunkJobs  = 1000    // what EnqueueMany takes
	chunkBytes = 8 << 20 // of lines; a line above it is a chunk of its own
	maxLine    = 8 << 20 // a payload of the largest size, all of it escaped, fits
)

// lineFormat makes a job of a line.
type lineFormat struct {
	trim func(line []byte) []byte // what counts of a line; nothing: it is skipped
	job  func(line []byte) (queue.NewJob, error)
}

// imported counts what became of the lines.
type imported struct {
	Created  int64 `json:"created"`
	Existing int64 `json:"existing"`
	Refused  int64 `json:"refused"`
}

// enqueueLines puts in a job for each line of a file, or of stdin for -, chunk by
// chunk.
func (a *app) enqueueLines(ctx context.Context, path string, format lineFormat) error {
	file, size, closeFile, err := a.openLines(path)
	if err != nil {
		return err
	}
	defer closeFile()
	bar := a.progress("enqueue", size, inBytes())
	var count imported
	err = a.withQueue(ctx, func(q *sqlite.Queue) error {
		s, _ := a.service()
		a.noteOtherDatabase(s, q, "goes to")
		im := newImporter(a, q, format, bar, &count)
		err := im.run(ctx, file)
		_ = bar.Clear()
		if err == nil {
			im.refused.tell()
			a.noteWaiting(ctx, q, slices.Sorted(maps.Keys(im.kinds)))
		}
		return goesOnLater(err)
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

// goesOnLater adds to the error of an import that it can be run again.
func goesOnLater(err error) error {
	if len(remedies(err)) > 0 { // they say that it is to be run again, and when
		return advise(err, "nothing is added twice")
	}
	return advise(err, "run the same command again when that is mended: nothing is added twice")
}

// openLines opens a file of lines; its size is -1 where that cannot be known.
func (a *app) openLines(path string) (file input, size int64, closeFile func(), err error) {
	file = a.in
	if path == "-" {
		if isTerminal(file.from) {
			a.note("reading lines from the terminal: Ctrl-D ends them")
		}
		return file, -1, func() {}, nil
	}
	opened, err := a.in.open(path)
	switch {
	case errors.As(err, new(stopped)):
		return file, 0, nil, fmt.Errorf("read %s: %w", path, err)
	case err != nil:
		return file, 0, nil, advise(usage("--from: %v", err), "- reads from stdin")
	}
	size = -1
	info, err := opened.Stat()
	switch {
	case err == nil && info.IsDir():
		opened.Close()
		return file, 0, nil, advise(usage("--from: %s is a folder", escape(path)), "- reads from stdin")
	case err == nil && info.Mode().IsRegular():
		size = info.Size()
	}
	file.from = opened
	return file, size, func() { opened.Close() }, nil
}

// enqueuer is what the chunks are for.
type enqueuer interface {
	EnqueueMany(ctx context.Context, jobs []queue.NewJob) ([]queue.EnqueueResult, error)
}

// importer collects lines into chunks.
type importer struct {
	app    *app
	q      enqueuer
	format lineFormat
	bar    *progressbar.ProgressBar
	count  *imported

	refused refusedLines
	kinds   map[string]bool // of the jobs that are there now

	jobs  []queue.NewJob
	lines []int64 // the line of each job
	bytes int
}

func newImporter(a *app, q enqueuer, format lineFormat, bar *progressbar.ProgressBar, count *imported) *importer {
	return &importer{
		app: a, q: q, format: format, bar: bar, count: count,
		refused: refusedLines{app: a}, kinds: map[string]bool{},
	}
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
		if len(im.jobs)+len(im.refused.waiting) >= chunkJobs || im.bytes >= chunkBytes || err == io.EOF {
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

// take makes a job of one line.
func (im *importer) take(number int64, line []byte, size int) {
	if number == 1 {
		line = strictjson.TrimBOM(line)
	}
	line = im.format.trim(line)
	if len(line) == 0 {
		return
	}
	if size > maxLine {
		im.refuse(number, usage("longer than %d bytes", maxLine))
		return
	}
	job, err := im.format.job(line)
	if err != nil {
		im.refuse(number, err)
		return
	}
	im.jobs = append(im.jobs, job)
	im.lines = append(im.lines, number)
	im.bytes += len(line)
}

// flush enqueues the chunk, and tells of its lines that made no job.
func (im *importer) flush(ctx context.Context) error {
	err := im.enqueue(ctx)
	_ = im.bar.Clear()
	return errors.Join(err, im.refused.flush())
}

func (im *importer) enqueue(ctx context.Context) error {
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
			im.kinds[im.jobs[i].Kind] = true
		default:
			im.count.Existing++
			im.kinds[im.jobs[i].Kind] = true
		}
	}
	im.jobs, im.lines, im.bytes = im.jobs[:0], im.lines[:0], 0
	return nil
}

// refuse counts a bad line and goes on.
func (im *importer) refuse(number int64, err error) {
	im.count.Refused++
	im.refused.add(number, err)
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
