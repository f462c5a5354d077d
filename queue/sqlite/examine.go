package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
)

// Report is what Examine found, in the order in which it looked.
type Report struct {
	Path     string // absolute, symbolic links resolved
	Findings []Finding
}

// Finding is the answer to one question about a database.
type Finding struct {
	Check  string // the question, in a few words
	OK     bool
	Detail string // what is so
	Advice string // what to do about it, a command where there is one; empty if nothing

	NotOurs bool // not OK because the file is foreign, newer, damaged or in a place where it is refused
}

// Known is what else is known of a database that is examined. The zero value works.
type Known struct {
	MinFree int64  // bytes that a service wants to have free
	Newest  string // path of the newest snapshot; empty: none is known
}

// Examine looks at a database, in use or not, at its folder and at what it holds, or
// at a snapshot, and changes neither the file nor what is written in its log; at most
// SQLite's index of a log that was left behind (-shm) is made anew. In a place where
// a queue is refused it is not opened. It tells what is wrong instead of failing: an
// error means that there is no such file, or that ctx ended. It takes as long as
// reading all of the file several times.
func Examine(ctx context.Context, path string, opt Options, known Known) (Report, error) {
	e := &examiner{ctx: ctx, opt: opt.withDefaults(), known: known}
	var err error
	if e.Path, err = resolve(path); err != nil {
		return Report{}, fmt.Errorf("examine %s: %w", path, err)
	}
	switch {
	case !e.identify():
	case e.sealed:
		e.snapshot()
	case !e.place():
	default:
		e.sideFiles()
		e.drafts()
		e.space()
		e.open()
	}
	if ctx.Err() != nil {
		return Report{}, fmt.Errorf("examine %s: %w", path, context.Cause(ctx))
	}
	return e.Report, nil
}

// examiner collects findings.
type examiner struct {
	Report
	ctx    context.Context
	opt    Options
	known  Known
	c      *conn
	taken  time.Time // of a snapshot, where that can be read
	sealed bool      // it is a snapshot
}

func (e *examiner) fine(check, detail string, args ...any) {
	e.Findings = append(e.Findings, Finding{Check: check, OK: true, Detail: fmt.Sprintf(detail, args...)})
}

func (e *examiner) wrong(check, advice, detail string, args ...any) {
	e.Findings = append(e.Findings, Finding{Check: check, Detail: fmt.Sprintf(detail, args...), Advice: advice})
}

// broken tells of what has lost its form.
func (e *examiner) broken(check, detail string, args ...any) {
	advice := "stop what uses it, keep the file and all that is beside it, and make a queue of the newest snapshot: bailiff restore " + e.newest() + " NEW"
	if e.sealed {
		advice = "it cannot be restored: take an older one"
	}
	e.wrong(check, advice, detail, args...)
	e.Findings[len(e.Findings)-1].NotOurs = true
}

func (e *examiner) newest() string {
	if e.known.Newest == "" || e.known.Newest == e.Path {
		return "SNAPSHOT"
	}
	return shellword.Quote(e.known.Newest)
}

// failed tells of an error that kept a question from being answered.
func (e *examiner) failed(check string, err error) {
	switch err := damage(err); {
	case errors.Is(err, queue.ErrDamaged):
		e.broken(check, "%v", err)
	case errors.Is(err, queue.ErrBusy):
		e.wrong(check, "try again", "%v", err)
	default:
		e.wrong(check, "", "%v", err)
		e.Findings[len(e.Findings)-1].NotOurs = errors.Is(err, queue.ErrNotOurs)
	}
}

// unexpected is the advice about rows that do not fit together.
func (e *examiner) unexpected() string {
	if e.sealed {
		return "report it: either somebody else wrote to the database before or bailiff is wrong; restore an older one if there is one"
	}
	return "keep a copy as evidence (bailiff --db " + shellword.Quote(e.Path) + " backup FILE) and report it: either somebody else wrote to the file or bailiff is wrong"
}

// identify looks whose file it is, and whether it is a snapshot. It tells of one
// that is not ours, about which nothing else is asked.
func (e *examiner) identify() (ours bool) {
	release, err := opened.claim(e.Path, func() (err error) {
		e.taken, e.sealed, err = takenAt(e.Path)
		e.sealed = e.sealed || !e.taken.IsZero()
		return err
	})
	if err == nil {
		release()
		return true
	}
	advice := "this is not bailiff's; nothing was changed. Name the right file: bailiff doctor --db FILE"
	switch _, missing := os.Lstat(e.Path + reserveSuffix); {
	case !errors.Is(err, queue.ErrNotOurs): // it comes again
		return true
	case errors.Is(err, queue.ErrDamaged), missing == nil: // what is beside it tells that it was ours
		e.broken("file", "%v", err)
		return false
	case errors.Is(err, errNewer):
		advice = "use the bailiff that wrote it, or a newer one"
	}
	e.wrong("file", advice, "%v", err)
	e.Findings[len(e.Findings)-1].NotOurs = true
	return false
}

// place looks where it lies. Where it is refused, opening it would already make what
// does harm: a second log.
func (e *examiner) place() (taken bool) {
	left, err := checkPlace(e.Path, e.opt)
	if err != nil {
		e.failed("place", err)
		return false
	}
	writing := mayWrite(e.Path, filepath.Dir(e.Path))
	switch {
	case errors.Is(writing, unix.EROFS):
		e.wrong("place", "make its file system writable, or move the database to one that is", "%v; nothing can use it there", writing)
	case writing != nil:
		e.wrong("place", "ls -ld "+shellword.Quote(filepath.Dir(e.Path))+" "+shellword.Quote(e.Path)+" shows who may write there", "%v; you cannot use it", writing)
	case len(left) > 0:
		e.wrong("place", "nothing: whoever opens the database next removes them", "a crash left second names of it: %s", strings.Join(left, ", "))
	default:
		e.fine("place", "one name, on a disk of this machine")
	}
	return true
}

// open looks at what a queue's file holds.
func (e *examiner) open() {
	release, err := opened.claim(e.Path, func() error {
		return patiently(e.ctx, func() (err error) {
			e.c, err = openConn(dsn(e.Path, e.access()))
			return err
		})
	})
	if err != nil {
		e.failed("file", err)
		return
	}
	defer release()
	e.read()
}

// read looks at what is to be read through e.c, and closes it.
func (e *examiner) read() {
	defer func() { _ = e.c.close() }()
	if err := patiently(e.ctx, func() error { return beginReading(e.c) }); err != nil {
		e.failed("file", err)
		return
	}
	defer func() { _ = e.c.script(`ROLLBACK`) }()
	e.content()
}

// access is how the file is read: alone, where SQLite could not make its side files
// beside it, or would undo what a journal tells that was begun; as one that leaves a
// log as it is, where there is one.
func (e *examiner) access() access {
	size := func(side string) int64 {
		info, err := os.Lstat(e.Path + side)
		if err != nil {
			return -1
		}
		return info.Size()
	}
	writable := mayWrite(e.Path, filepath.Dir(e.Path)) == nil
	switch log := size("-wal"); {
	case size("-journal") > 0, log <= 0 && !writable:
		return immutable
	case log >= 0:
		return besideLog
	}
	return examining
}

// say is a duration for people.
func say(d time.Duration) string { return d.Round(time.Second).String() }
