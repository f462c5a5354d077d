package queue

import (
	"github.com/go-json-experiment/json/jsontext"
	"time"
)

// Bounds of a job. A request outside them is refused with ErrInvalid, naming
// the argument and the bound.
const (
	MaxKindLength    = 64      // bytes
	MaxKeyLength     = 255     // bytes of UTF-8, no NUL
	MaxPayload       = 1 << 20 // bytes of JSON text
	MaxPayloadDepth  = 50      // nested arrays and objects
	MaxMeta          = 4 << 10 // bytes of JSON text, an object
	MaxResult        = 1 << 20 // bytes of JSON text
	MaxReason        = 1 << 10 // bytes kept of a reason, cut at a character
	MaxWorkerLength  = 255     // bytes
	MaxAttemptsLimit = 1 << 20 // highest attempt limit that can be named
	MinPriority      = -100
	MaxPriority      = 100
	MinLease         = time.Second
	MaxLease         = 24 * time.Hour
	MaxDelay         = 10 * 365 * 24 * time.Hour // longest delay of a retry, snooze or requeue
	DefaultHistory   = 100                       // entries History answers with when not told
	MaxHistory       = 10_000
	DefaultPage      = 100 // jobs List answers with when not told
	MaxPage          = 10_000

	// DefaultMaxAttempts is the attempt limit where neither the enqueuer nor
	// the handler names one.
	DefaultMaxAttempts = 5
)

// Job is a job as it stands.
//
// A waiting job is stuck only while nobody claims its kind; a leased one only
// while its holder keeps renewing; a quarantined one until a person decides.
type Job struct {
	ID      int64 // below 2^53, never used twice
	Kind    string
	Key     string
	State   State
	Payload jsontext.Value // the text as it was enqueued
	Meta    jsontext.Value // an object, or nil

	Priority      int
	Attempt       int // runs since the last requeue
	MaxAttempts   int // the limit that counts now: the enqueuer's, else the last holder's; 0: not known before its first claim
	NamedAttempts int // the limit the enqueuer named; 0 is none
	Fence         int64

	AvailableAt time.Time // when it is due
	CreatedAt   time.Time
	UpdatedAt   time.Time // last transition
	FinishedAt  time.Time // zero unless done, dead or cancelled

	Result    jsontext.Value // of a done job; nil is none
	LastError string         // the reason of the last run that was not done, in words

	Effects        []Effect
	IdempotencyKey string // the same in every run, different for every other job of any queue

	Worker         string    // of a leased job
	LeaseExpiresAt time.Time // of a leased job, wall clock, for people: decides nothing

	CancelRequested         bool
	ExternalEffectsPossible bool // a run since the last requeue may have done something unknown
	NeedsReview             bool // requeue wants the word "reviewed"
}

// Due reports whether a waiting job can be claimed at now.
func (j *Job) Due(now time.Time) bool { return !j.AvailableAt.After(now) }

// Effect is one recorded begin of something outside.
type Effect struct {
	Name      string
	State     EffectState
	Fence     int64 // the run that began it
	BegunAt   time.Time
	SettledAt time.Time // receipted or voided
	Receipt   jsontext.Value
	Note      string
}

// EffectState is what is known of an effect.
type EffectState string

// The states of an effect. Begun without receipt or void is open.
const (
	EffectBegun  EffectState = "begun"
	EffectDone   EffectState = "receipted"
	EffectVoided EffectState = "voided"
)

// Ref names a job: by its id, or by kind and key.
type Ref struct {
	ID   int64 // 0: by Kind and Key
	Kind string
	Key  string
}

// Entry is one row of a job's history, oldest first when listed.
type Entry struct {
	At      time.Time
	Event   Event
	From    State // empty for enqueue
	To      State
	Attempt int
	Fence   int64
	Worker  string
	Detail  string // the reason in words, with what a person needs to know

	// A claim and the snooze that ended it, equal to the pair before them, add
	// no rows: Count says how often, LastAt and LastFence when and which last.
	Count     int64 // at least 1
	LastAt    time.Time
	LastFence int64
}

// Metrics counts jobs. A scheduled job that is due counts as ready.
type Metrics struct {
	Counts
	Kinds map[string]KindMetrics
}

// KindMetrics counts the jobs of one kind.
type KindMetrics struct {
	Counts
	Paused         bool
	OldestReady    time.Duration // how long the oldest due job waits; 0 without one
	HasOldestReady bool
}

// Counts is the number of jobs in each state.
type Counts struct {
	Scheduled, Ready, Leased, Done, Dead, Quarantined, Cancelled int64
}
