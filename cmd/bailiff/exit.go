package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// The exit statuses of every command.
const (
	exitFine      = 0
	exitFailed    = 1
	exitUsage     = 2
	exitConflict  = 3
	exitNotFound  = 4
	exitLeaseLost = 5
	exitNotOurs   = 6
	exitBusy      = 7
)

// exitStatuses explains them in the help of the root command.
const exitStatuses = `Exit status:
  0  fine
  1  failed; also: a job waited for did not end as done, a handler is failing,
     doctor found something wrong
  2  wrong usage, a bad argument or configuration
  3  conflict: the key is taken by another payload, the job's state refuses it,
     a file is in the way
  4  not found
  5  lease lost: the token holds no live lease
  6  not a bailiff database, a newer one, or a damaged one
  7  busy, in use or not reachable; not ended in time`

// exitStatus is the one place where an error becomes an exit status.
func exitStatus(err error) int {
	var (
		ended  *endedError
		broken *config.Error
	)
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &ended):
		return ended.status
	case errors.As(err, &broken), errors.Is(err, queue.ErrInvalid):
		return exitUsage
	case errors.Is(err, queue.ErrConflict), errors.Is(err, fs.ErrExist):
		return exitConflict
	case errors.Is(err, queue.ErrNotFound):
		return exitNotFound
	case errors.Is(err, queue.ErrLeaseLost):
		return exitLeaseLost
	case errors.Is(err, queue.ErrNotOurs):
		return exitNotOurs
	case errors.Is(err, queue.ErrBusy), errors.Is(err, queue.ErrClosed):
		return exitBusy
	default: // ErrFull, ErrUnknown and whatever the system says
		return exitFailed
	}
}

// endedError ends a command with a status when everything there is to say
// about it has been said already.
type endedError struct{ status int }

func (e *endedError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// advisedError is an error with what to do about it.
type advisedError struct {
	err    error
	advice string
}

func (e *advisedError) Error() string { return e.err.Error() }
func (e *advisedError) Unwrap() error { return e.err }

// actError is an error under the name of the act that was asked for; the engine
// named the one that failed.
type actError struct {
	err          error
	named, asked string
}

func (e *actError) Error() string {
	return e.asked + ": " + strings.TrimPrefix(e.err.Error(), e.named+": ")
}
func (e *actError) Unwrap() error { return e.err }

// advise adds to err, which may be nil, what to do about it.
func advise(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &advisedError{err: err, advice: fmt.Sprintf(format, args...)}
}

// advices answers all that err and those it wraps say about what to do, the
// innermost first: it is nearest to the cause.
func advices(err error) []string {
	switch e := err.(type) {
	case nil:
		return nil
	case *advisedError:
		return append(advices(e.err), e.advice)
	case interface{ Unwrap() []error }:
		var all []string
		for _, one := range e.Unwrap() {
			all = append(all, advices(one)...)
		}
		return all
	default:
		return advices(errors.Unwrap(err))
	}
}

// remedies are what to do about an error whatever was asked for; where nobody knows
// whether something was recorded, it depends on that.
func remedies(err error) []string {
	switch {
	case errors.Is(err, queue.ErrMoved) && !errors.As(err, new(*supervisor.QueueLost)):
		return []string{"move it back, with its -wal and -shm (all three), or name it with --db; then the same command again. No empty database is made in its place"}
	case errors.As(err, new(*queue.PrunedError)):
		return []string{"its payload and history are gone: to do it again, enqueue it under another key"}
	case errors.Is(err, queue.ErrUnknown) && len(advices(err)) == 0:
		return []string{"whether it was recorded is not known: look how things stand, or run the same command again"}
	case errors.Is(err, queue.ErrFull):
		return []string{"df -h shows which disk is full; when there is room, the same command again"}
	}
	return nil
}

// sentences is the text of err for people, each line safe to show: one, or one
// for each of those that errors.Join put together. A class that the text ends
// with, as in "…: invalid", is for errors.Is and says nothing more to a person.
func sentences(err error) []string {
	if _, told := err.(*endedError); told {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(joined.Unwrap()...).Error() {
		var all []string
		for _, one := range joined.Unwrap() {
			all = append(all, sentences(one)...)
		}
		return all
	}
	text := err.Error()
	for _, class := range []error{queue.ErrInvalid, queue.ErrConflict, fs.ErrNotExist} {
		if errors.Is(err, class) {
			text = strings.TrimSuffix(text, ": "+class.Error())
		}
	}
	return []string{escape(text)}
}

// usage is an error about how the command was called.
func usage(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// usageError is queue.ErrInvalid in the words of the command line alone.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }
func (e *usageError) Unwrap() error { return queue.ErrInvalid }
