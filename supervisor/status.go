package supervisor

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"
)

// statusEvery is how often OnStatus is called at most.
const statusEvery = 250 * time.Millisecond

// Stage is what a supervisor is about.
type Stage string

// The stages of a Run.
const (
	StageRunning  Stage = "running"
	StageDraining Stage = "draining" // claims nothing more
	StageStopping Stage = "stopping" // kills everything
)

// Status is what a supervisor does at one moment: plain data for people and
// for status files. It never holds payloads, tokens or environments.
type Status struct {
	PID         int             `json:"pid"`
	Worker      string          `json:"worker"`
	Stage       Stage           `json:"stage"`
	At          time.Time       `json:"at"`
	StartedAt   time.Time       `json:"started_at"`
	Config      string          `json:"config"`
	Database    string          `json:"database"`
	LoadedAt    time.Time       `json:"loaded_at"`             // when the configuration in use was read
	ReloadError string          `json:"reload_error,omitzero"` // why the last reload changed nothing
	QueueError  string          `json:"queue_error,omitzero"`  // what the queue answered last, if that was an error
	Disk        *DiskStatus     `json:"disk,omitzero"`         // nothing is claimed for want of space; nil: there is room
	Handlers    []HandlerStatus `json:"handlers"`              // by kind
	Running     []RunStatus     `json:"running"`               // by id
	Unhandled   []UnhandledKind `json:"unhandled"`             // by kind
}

// HandlerStatus is one handler's pool.
type HandlerStatus struct {
	Kind     string    `json:"kind"`
	Protocol string    `json:"protocol"`
	Slots    int       `json:"slots"`
	Running  int       `json:"running"`           // slots with a job
	Ready    int       `json:"ready"`             // lines: children waiting for a job
	Starting int       `json:"starting"`          // lines: children not ready yet
	Ending   int       `json:"ending"`            // slots whose tree is not gone yet
	Waiting  int64     `json:"waiting"`           // jobs due now
	Failing  string    `json:"failing,omitzero"`  // why it does not start, in words
	Tries    int       `json:"tries,omitzero"`    // failed starts in a row
	NextTry  time.Time `json:"next_try,omitzero"` // of a failing handler
	Warning  string    `json:"warning,omitzero"`

	FailedInARow int          `json:"failed_in_a_row,omitzero"` // runs since the last done: retry, dead or uncertain
	LastFailure  *LastFailure `json:"last_failure,omitzero"`    // of these the last
}

// RunStatus is one run.
type RunStatus struct {
	ID         int64     `json:"id"`
	Kind       string    `json:"kind"`
	Key        string    `json:"key"`
	Fence      int64     `json:"fence"`
	Attempt    int       `json:"attempt"`
	PID        int       `json:"pid,omitzero"`
	Since      time.Time `json:"since"`
	TimeoutAt  time.Time `json:"timeout_at,omitzero"`
	Percent    *float64  `json:"percent,omitzero"`
	Message    string    `json:"message,omitzero"`
	ProgressAt time.Time `json:"progress_at,omitzero"`
	Stopping   string    `json:"stopping,omitzero"` // why it is being stopped, in words
	Left       []int     `json:"left,omitzero"`     // processes that outlive their kill
}

// UnhandledKind is a kind that has jobs waiting and no handler here.
type UnhandledKind struct {
	Kind    string `json:"kind"`
	Waiting int64  `json:"waiting"`
}

// Status tells what stands now.
func (s *Supervisor) Status() Status {
	s.mu.Lock()
	st := Status{
		PID:         os.Getpid(),
		Worker:      s.opt.Worker,
		Stage:       s.stops.stage(),
		At:          s.opt.Clock.Now(),
		StartedAt:   s.startedAt,
		Config:      s.config.Path,
		Database:    s.opt.Database,
		LoadedAt:    s.loadedAt,
		ReloadError: s.reloadError,
		QueueError:  s.queueError,
		Disk:        s.disk,
		Handlers:    []HandlerStatus{},
		Unhandled:   slices.Clone(s.unhandled),
	}
	s.mu.Unlock()
	if st.Unhandled == nil {
		st.Unhandled = []UnhandledKind{}
	}
	for _, p := range s.currentPools() {
		st.Handlers = append(st.Handlers, p.status(st.At))
	}
	st.Running = s.runStatuses()
	return st
}

// runStatuses is what Status shows of every run, by id. Never nil.
func (s *Supervisor) runStatuses() []RunStatus {
	list := []RunStatus{}
	for _, r := range s.crew.runs.all() {
		list = append(list, r.status())
	}
	slices.SortFunc(list, func(a, b RunStatus) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// status is what Status shows of the pool at now.
func (p *pool) status(now time.Time) HandlerStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := HandlerStatus{
		Kind:     p.handler.Kind,
		Protocol: string(p.handler.Protocol),
		Slots:    p.handler.Concurrency,
		Running:  p.running,
		Ready:    len(p.idle),
		Starting: p.starting,
		Waiting:  p.waiting,
		Warning:  p.warning,
	}
	p.streak.show(&st)
	st.Ending = max(0, p.used-st.Running-st.Ready-st.Starting)
	if p.failing.reason != "" {
		st.Failing = visible(p.failing.reason)
		st.Tries = p.failing.tries
		st.NextTry = now.Add(max(0, time.Until(p.failing.next)))
	}
	return st
}

// tellStatus calls OnStatus after changes, until ctx ends, and once more then.
func (s *Supervisor) tellStatus(ctx context.Context) {
	if s.opt.OnStatus == nil {
		return
	}
	defer func() { s.opt.OnStatus(s.Status()) }()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.touched:
		}
		s.opt.OnStatus(s.Status())
		pause.Reset(statusEvery)
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}
