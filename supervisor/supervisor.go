package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/hashicorp/go-hclog"
)

// What Run can end with, apart from an error of the queue.
var (
	// ErrFailing: with UntilIdle, a handler does not start; its jobs wait and
	// used up no attempt.
	ErrFailing = errors.New("a handler is failing")
	// ErrAborted: Run was told to stop at once, and every tree was killed.
	ErrAborted = errors.New("stopped at once")
	// ErrUnrecorded: the queue would not take what some runs were, their leases
	// were lost while the service stopped, or processes of theirs outlived their
	// kill. Each is in the log. Their leases end by themselves, and then their jobs
	// fall under their handlers' rules.
	ErrUnrecorded = errors.New("runs that could not be recorded")
)

// Queue is what a supervisor needs of a queue.
type Queue interface {
	Claim(context.Context, queue.ClaimRequest) ([]queue.Claimed, error)
	Renew(context.Context, []queue.Renewal) ([]queue.Renewed, error)
	Settle(context.Context, queue.Settlement) (queue.Settled, error)
	Expire(context.Context) ([]queue.Expired, error)
	Note(ctx context.Context, id int64, fence int64, text string) error
	Agenda(ctx context.Context, kinds []string) (queue.Agenda, error)
	Metrics(context.Context) (queue.Metrics, error)
	Changes(context.Context) (<-chan struct{}, error)
	Free() (bytes int64, err error) // that can still be written
	NeedsFree() (bytes int64)       // below which it takes only what running jobs record
}

// Options is what New needs. Queue, Clock and Config must be set. The state_dir
// of Config must be this supervisor's alone: what runs left there is removed.
type Options struct {
	Queue  Queue
	Clock  queue.Clock
	Logger hclog.Logger // nil: no log. It must not block: those who watch children write to it
	Config *config.Config

	// Load reads the configuration again for Reload; an error keeps the old
	// one. Nil: Reload does nothing.
	Load func() (*config.Config, error)

	Worker   string // name in leases and history; empty: host name and pid
	Database string // absolute path, for handlers (BAILIFF_DB)
	Binary   string // absolute path of bailiff itself, for handlers (BAILIFF_BIN); its folder leads PATH

	// UntilIdle ends Run when nothing runs and nothing that the configuration
	// can run is ready or due within a second.
	UntilIdle bool
	// OnStatus is called with what Status would answer, soon after it changed,
	// never twice at a time and at most a few times a second. It should return
	// quickly. Nil: nobody is told.
	OnStatus func(Status)
}

// Supervisor runs handlers for one queue. Use New; a Supervisor is good for one
// Run or one RunOne.
type Supervisor struct {
	opt   Options
	log   hclog.Logger
	crew  *crew
	stops *stops

	wake    chan struct{} // capacity 1: something changed for the dispatcher
	touched chan struct{} // capacity 1: something changed for Status
	again   chan struct{} // capacity 1: read the configuration again
	helpers sync.WaitGroup

	mu          sync.Mutex
	config      *config.Config
	pools       map[string]*pool // by kind
	retired     []*pool          // whose slots are not all free yet
	startedAt   time.Time
	loadedAt    time.Time
	reloadError string
	queueError  string
	lost        *QueueLost  // nil: the queue can be used
	disk        *DiskStatus // nil: there is room
	unhandled   []UnhandledKind
	warned      map[string]bool // kinds without a handler that were warned about
}

// New returns a supervisor that does nothing until Run or RunOne.
func New(opt Options) *Supervisor {
	if opt.Logger == nil {
		opt.Logger = hclog.NewNullLogger()
	}
	if opt.Worker == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "bailiff"
		}
		opt.Worker = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	s := &Supervisor{
		opt:       opt,
		log:       opt.Logger,
		stops:     newStops(),
		wake:      make(chan struct{}, 1),
		touched:   make(chan struct{}, 1),
		again:     make(chan struct{}, 1),
		config:    opt.Config,
		pools:     make(map[string]*pool),
		startedAt: opt.Clock.Now(),
		loadedAt:  opt.Clock.Now(),
		warned:    make(map[string]bool),
	}
	s.crew = &crew{
		queue:    opt.Queue,
		clock:    opt.Clock,
		log:      opt.Logger,
		keeper:   newKeeper(opt.Queue, opt.Clock, opt.Logger),
		late:     newLateNotes(opt.Queue, opt.Logger),
		stops:    s.stops,
		folder:   filepath.Join(opt.Config.StateDir, "runs"),
		database: opt.Database,
		binary:   opt.Binary,
		wake:     func() { signal(s.wake) },
		touched:  func() { signal(s.touched) },
		emptied:  s.drop,
		lose:     s.loseQueue,
	}
	s.crew.keeper.lose = s.loseQueue
	return s
}

// Drain ends Run gently: nothing more is claimed, running jobs have the
// configured drain time to end and are then stopped with their grace.
func (s *Supervisor) Drain() {
	s.stops.reach(stageDrain)
	s.crew.touched()
}

// Abort ends Run at once: every tree is killed, everything is recorded.
func (s *Supervisor) Abort() {
	s.stops.reach(stageAbort)
	s.crew.touched()
}

// Reload asks for the configuration to be read again and applied, all or
// nothing. It does not wait; Status tells what came of it.
func (s *Supervisor) Reload() { signal(s.again) }

// Run works until Drain, Abort, the end of ctx (which is Abort) or, with
// UntilIdle, until there is nothing to do. It answers nil when every run was
// recorded, else an error that is ErrAborted, ErrUnrecorded, ErrFailing or
// ErrNoRoom, or a *QueueLost; then, too, nothing is run any more.
func (s *Supervisor) Run(ctx context.Context) error {
	work, end := s.open(ctx)
	defer end()
	s.apply(s.opt.Config)
	changes, err := s.opt.Queue.Changes(work)
	if err != nil {
		return fmt.Errorf("watch the queue for changes: %w", err)
	}
	err = s.dispatch(work, changes)
	if final(err) {
		s.loseQueue(err)
	}
	s.helpers.Go(func() { s.listen(work, changes) })
	return s.ended(err, s.wind())
}

// ended is what an end comes to: err is why it came to that, wound how it went.
func (s *Supervisor) ended(err, wound error) error {
	lost := s.lostQueue()
	switch {
	case lost != nil && errors.Is(wound, ErrUnrecorded):
		return errors.Join(lost, wound)
	case lost != nil:
		return lost
	case err != nil:
		return err
	}
	return wound
}

// open starts what every kind of run needs; end stops it and waits.
func (s *Supervisor) open(ctx context.Context) (work context.Context, end func()) {
	if err := sweepFolders(s.crew.folder); err != nil {
		s.log.Warn("folders of earlier runs not removed", "error", err)
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.helpers.Go(func() { s.crew.keeper.renew(work) })
	s.helpers.Go(func() { s.crew.keeper.watch(work) })
	s.helpers.Go(func() { s.crew.late.work(work) })
	s.helpers.Go(func() { s.tellStatus(work) })
	s.helpers.Go(func() { s.reloads(work) })
	s.helpers.Go(func() {
		select {
		case <-ctx.Done():
			s.Abort()
		case <-work.Done():
		}
	})
	return work, func() {
		cancel()
		s.helpers.Wait()
	}
}
