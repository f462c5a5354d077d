package config

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Protocol is how a handler is spoken to.
type Protocol string

// The protocols.
const (
	Plain Protocol = "plain" // one process per job: payload on stdin, outcome by exit status
	Lines Protocol = "lines" // a process that stays: one JSON object per line
)

// Other is what a plain exit status that no rule names means.
type Other string

// What another exit status can mean.
const (
	OtherRetry     Other = "retry"
	OtherUncertain Other = "uncertain"
)

// Handler is one configured executable, its defaults filled in.
type Handler struct {
	Kind   string
	Source string // where it is set: "file:line", or the drop-in's path

	// Command is the argument list, never a shell line, at least one word. Of
	// a drop-in it is the file alone. A first word without a slash is looked up
	// in PATH by whoever starts it; one with a slash is absolute.
	Command []string
	// ShownCommand is Command as it may be printed: an argument that env() or
	// file() gave is "(secret)".
	ShownCommand []string
	// File is the handler's file, absolute: the drop-in; for a command its
	// second word where that names a regular file, else its first, looked up
	// in PATH where it has no slash; empty if neither is a regular file.
	File string
	// Program is the file of the first word where File is the second: the
	// interpreter of a script, or a script whose data File is. Empty otherwise.
	Program string
	// Version changes whenever one of Files is replaced or edited; empty
	// without any. A child that stays runs the old one until it is replaced too.
	Version  string
	Protocol Protocol

	Concurrency  int           // slots in this supervisor, at least 1
	Timeout      time.Duration // of one run; 0: none
	StartTimeout time.Duration // lines: until ready
	Liveness     time.Duration // longest silence; 0: none
	Grace        time.Duration // between asking a child to stop and killing it; 0: killed at once
	IdleTimeout  time.Duration // lines: an unused child ends after this; 0: never
	MaxJobs      int           // lines: jobs per child; 0: no limit
	Warm         int           // lines: children kept however idle

	Repeatable bool // running a job twice does no harm

	Dir        string            // working folder, absolute
	Env        map[string]string // set for the handler
	InheritEnv []string          // names passed on from the service's environment

	Retry Retry
	Exit  Exit // plain alone

	settings []Setting
}

// Retry spaces the attempts of a job that failed.
type Retry struct {
	MaxAttempts int           // at least 1
	BaseDelay   time.Duration // above 0, at most MaxDelay
	MaxDelay    time.Duration
	Jitter      float64 // 0 to 1: the share of a delay that is random
}

// Exit says what plain exit statuses mean beyond 0, 65, 75 and 76.
type Exit struct {
	Dead  []int // sorted
	Retry []int // sorted
	Other Other
}

// Files are what the handler runs from, absolute: at most Program and File.
func (h *Handler) Files() (paths []string) {
	for _, path := range []string{h.Program, h.File} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// Equal reports whether both are the same to their jobs and children. Where a
// handler is set (Source) does not count; that a file of it was replaced or edited
// (Version) does.
func (h *Handler) Equal(o *Handler) bool {
	a, b := *h, *o
	if !slices.Equal(a.Command, b.Command) || !maps.Equal(a.Env, b.Env) || !slices.Equal(a.InheritEnv, b.InheritEnv) ||
		!slices.Equal(a.Exit.Dead, b.Exit.Dead) || !slices.Equal(a.Exit.Retry, b.Exit.Retry) {
		return false
	}
	return a.Kind == b.Kind && a.File == b.File && a.Program == b.Program && a.Version == b.Version && a.Protocol == b.Protocol &&
		a.Concurrency == b.Concurrency && a.Timeout == b.Timeout && a.StartTimeout == b.StartTimeout &&
		a.Liveness == b.Liveness && a.Grace == b.Grace && a.IdleTimeout == b.IdleTimeout &&
		a.MaxJobs == b.MaxJobs && a.Warm == b.Warm && a.Repeatable == b.Repeatable &&
		a.Dir == b.Dir && a.Retry == b.Retry && a.Exit.Other == b.Exit.Other
}

// Promises tells in sentences where these settings keep a promise of bailiff's
// from being as good as it could be; drain is shutdown.drain.
func (h *Handler) Promises(drain time.Duration) []string {
	var list []string
	if !h.Repeatable && (h.Timeout == 0 || h.Timeout > drain) {
		run := "may take for ever"
		if h.Timeout > 0 {
			run = "may take " + formatDuration(h.Timeout)
		}
		list = append(list, fmt.Sprintf("a run %s, and stopping the service waits %s for it (shutdown.drain): one that is cut short then "+
			"is quarantined, because nobody knows how far it came. Raise drain, lower timeout, or say repeatable = true if running it twice does no harm",
			run, formatDuration(drain)))
	}
	if h.Liveness > 0 && h.Timeout > 0 && h.Liveness >= h.Timeout {
		list = append(list, fmt.Sprintf("liveness = %q is never reached: timeout = %q ends the run first",
			formatDuration(h.Liveness), formatDuration(h.Timeout)))
	}
	return list
}
