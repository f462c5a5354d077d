// Package config turns the text of a config.hcl, and the folder of drop-in
// handlers beside it, into one validated Config that never changes afterwards;
// and it watches both for changes.
//
// It knows HCL, units, defaults and file names. It starts nothing, opens no
// database and does not look whether a handler's interpreter is installed:
// that is found out where the handler is started.
package config

import (
	"time"

	"github.com/b1213022/bailiff/queue"
)

// Config is what an operator has set, with every default filled in. It is
// never changed after Load has returned it, so it may be shared freely.
type Config struct {
	Path string // the file, absolute, symlinks not resolved
	Dir  string // its folder; relative paths in the file start here

	Database    string // absolute
	HandlersDir string // absolute
	StateDir    string // absolute

	NetworkFS bool  // use a database on a network file system all the same
	MinFree   int64 // bytes on the database's file system below which no job is started; 0: none are too few

	Lease     Lease
	Shutdown  Shutdown
	Log       Log
	Retention queue.Retention // 0: for ever, else at least a minute
	Backup    *Backup         // nil: no snapshots are made by the clock

	// Handlers by kind, drop-ins included. Not nil.
	Handlers map[string]*Handler

	// Warnings are what Load noticed that is no error: a drop-in that looks
	// meant but is none, a sidecar without its handler.
	Warnings []Diagnostic

	settings []Setting
	sources  []source // what it was made from
}

// Lease is how long a claim holds and how often it is renewed.
type Lease struct {
	Duration time.Duration // 1 s to 24 h
	Renew    time.Duration // above 0, at most half of Duration
}

// Shutdown is how the service stops.
type Shutdown struct {
	Drain time.Duration // how long running jobs may go on after the first signal
}

// Log is how the service's own log is written.
type Log struct {
	Level  string // trace, debug, info, warn or error
	Format string // text or json
}

// Backup is how snapshots of the database are made by the clock.
type Backup struct {
	Every  time.Duration // at least a minute
	Folder string        // absolute
	Make   bool          // the folder was named by a relative path: it is made where it is missing
	Keep   int           // how many are kept, 1 to 1000
}
