package queue

import (
	"github.com/go-json-experiment/json/jsontext"
	"time"
)

// NewJob asks for a job. The zero value of each optional field is its default.
type NewJob struct {
	Kind        string
	Key         string
	Payload     jsontext.Value // empty is refused: {} is the caller's to say
	MaxAttempts int            // 0: not named
	AvailableAt time.Time      // zero: at once
	Priority    int
	Meta        jsontext.Value // an object; nil: none
}

// Enqueued answers an enqueue.
type Enqueued struct {
	Job     Job  // as it stands, payload and result included
	Created bool // false: a replay; Job is the job of before, nothing was changed
	Pruned  bool // a replay of a job that was pruned: only id, kind, key, state and finish time are left
}

// EnqueueResult is the answer to one of many.
type EnqueueResult struct {
	Enqueued
	Err error
}

// ClaimRequest asks for jobs. Wants are served in their order; what a want
// cannot fill is not moved to another. With Most the order of the wants means
// nothing: of all that they would take, the best are claimed.
type ClaimRequest struct {
	Worker string
	Lease  time.Duration
	Owner  Owner
	Wants  []Want
	Most   int // jobs in all, 1 to 1 000; 0: as many as the wants take, which then are 1 000 in all at most
}

// Want asks for up to Max jobs of one kind, highest priority first, then
// oldest due, then lowest id.
type Want struct {
	Kind          string // empty: any kind that is not paused
	Max           int    // 1 to 1 000
	Rule          Rule
	HandlerDigest string // hex SHA-256 of the handler's file, for history; may be empty
}

// Claimed is a job with the lease on it.
type Claimed struct {
	Job   Job
	Lease Lease
}

// Renewal asks for one lease to be kept. It never revives and never shortens.
type Renewal struct {
	ID     int64
	Token  Token
	Length time.Duration
}

// Renewed answers one Renewal.
type Renewed struct {
	Deadline        time.Duration // of Clock.Mono
	CancelRequested bool
	Err             error // ErrLeaseLost: stop working now
}

// Settlement ends a run.
type Settlement struct {
	ID      int64
	Token   Token
	Outcome Outcome
}

// Outcome is what a run was. Where its job goes is decided by Decide, in the
// transaction that records it.
type Outcome struct {
	Is     RunEnd
	Result jsontext.Value // done only; over MaxResult: a note instead
	Reason string         // all but done; cut to MaxReason at a character
	After  *time.Duration // retry, snooze: the handler's own delay

	// Backoff spaces retries when After is nil.
	Backoff Backoff
	// CutShort: our own shutdown ended the run; to be tried again is then snoozed.
	CutShort bool
	// NotGiven: the worker never had the job, so nothing can have happened.
	NotGiven bool
}

// RunEnd names what a run was.
type RunEnd string

// What a run can be. Quarantine is an uncertain that is never tried again.
const (
	RunDone       RunEnd = "done"
	RunRetry      RunEnd = "retry"
	RunDead       RunEnd = "dead"
	RunUncertain  RunEnd = "uncertain"
	RunQuarantine RunEnd = "quarantine"
	RunSnooze     RunEnd = "snooze"
)

// Settled says where the job went.
type Settled struct {
	State                   State
	AvailableAt             time.Time // of a waiting job
	Attempt                 int
	ExternalEffectsPossible bool
	Replay                  bool // this very settlement was recorded before
	Note                    string
}

// Expired says what an expiry did with one lease.
type Expired struct {
	ID     int64
	Kind   string
	Key    string
	Fence  int64
	Worker string
	To     State
}

// Finding is a person's word about a dead or quarantined job.
type Finding struct {
	As     State // StateDone, StateDead or StateCancelled
	Note   string
	Result jsontext.Value // StateDone only
}

// Requeue asks for a finished job to run again.
type Requeue struct {
	Reviewed bool          // somebody looked whether its effects happened
	Delay    time.Duration // 0: ready at once
}

// StuckAfter is how long a job stands still before Filter.Stuck selects it: a due
// job of a kind that is not paused, since it was due; a leased one, since it was
// claimed. A leased job whose lease is over and not expired yet is stuck at once.
const StuckAfter = time.Hour

// Filter selects jobs for List. Zero fields do not filter.
type Filter struct {
	States    []State
	Kind      string
	KeyPrefix string
	OlderThan time.Duration // since the last transition; with Stuck instead of StuckAfter
	Stuck     bool          // jobs that ought to move and do not, see StuckAfter
	After     int64         // only ids above this one: the page after
	Limit     int           // 0: DefaultPage; at most MaxPage
}

// Agenda is what a supervisor wants to know before it goes to sleep.
type Agenda struct {
	Ready         map[string]int64 // due jobs per kind asked for, paused kinds left out; above 1000 fallen due, at least so many
	NextDue       time.Time        // earliest scheduled job of the kinds asked for; zero: none
	NextExpiry    time.Duration    // when the first lease of all kinds may be expired, of Clock.Mono
	HasNextExpiry bool
	Cancelled     []int64 // leased jobs that somebody asked to cancel, at most 1000
}
