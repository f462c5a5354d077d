package config

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/hashicorp/go-hclog"
)

const (
	quiet       = 100 * time.Millisecond // without an event, and a burst is over
	longestWait = time.Second            // for a burst to end
	longestOpen = 10 * time.Second       // for a writer to close its file
	pollAlone   = 2 * time.Second        // where nothing tells of changes
	pollNet     = 10 * time.Second       // beneath inotify: network file systems, a parent folder replaced
)

// Watcher tells when something that a configuration was made from has changed:
// its file, its sidecars, the names and modes in handlers_dir, what file()
// read, the handlers' programs. It watches folders, because editors replace
// files and Kubernetes swaps links, and it compares what it sees with what was
// seen before, so that touching a file is no change.
type Watcher struct {
	logger hclog.Logger
	notify func() (*fsnotify.Watcher, error)
	wake   chan struct{} // holds one token while next is set

	mu   sync.Mutex
	next []source // to be watched from now on; nil: as before
}

// NewWatcher returns a watcher that reports its own trouble to logger.
func NewWatcher(logger hclog.Logger) *Watcher {
	return &Watcher{logger: logger, notify: fsnotify.NewWatcher, wake: make(chan struct{}, 1)}
}

// Follow tells the watcher which configuration is in use now. What has changed
// since it was loaded is noticed. It may be called from onChange, and by
// several goroutines at once.
func (w *Watcher) Follow(c *Config) { w.follow(c.sources) }

// FollowFailed tells the watcher that the latest Load answered err, so that
// mending whatever that load had looked at is noticed, also what the
// configuration in use does not name. It may be called wherever Follow may.
func (w *Watcher) FollowFailed(err error) {
	var failed *Error
	if errors.As(err, &failed) && len(failed.sources) > 0 {
		w.follow(failed.sources)
	}
}

func (w *Watcher) follow(sources []source) {
	w.mu.Lock()
	w.next = sources
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run watches what first was made from until ctx ends, which is its one way to
// return; the error is nil. Each time something there has changed, and has
// been quiet for a moment, and nobody is still writing it, it calls onChange,
// never twice at once. onChange is to Load, and then to Follow.
func (w *Watcher) Run(ctx context.Context, first *Config, onChange func()) error {
	v := &view{armed: map[string]string{}}
	var events chan fsnotify.Event
	var troubles chan error
	notifier, err := w.notify()
	if err == nil {
		defer notifier.Close()
		v.notifier, events, troubles = notifier, notifier.Events, notifier.Errors
	} else {
		v.trouble = err
	}
	net := time.NewTicker(pollNet)
	defer net.Stop()
	warned := false
	warn := func() {
		if v.trouble != nil && !warned {
			warned = true
			net.Reset(pollAlone)
			w.logger.Warn("not told of changed configuration files, looking for them every 2 s", "error", v.trouble)
		}
	}
	s := newSettle()
	defer s.timer.Stop()
	beginIfChanged := func() {
		if v.changed() {
			s.begin("")
		}
	}
	v.follow(first.sources)
	beginIfChanged()
	for {
		warn()
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
			w.mu.Lock()
			next := w.next
			w.mu.Unlock()
			v.follow(next)
			beginIfChanged()
		case event := <-events:
			if v.matters(event.Name) {
				s.begin(event.Name)
			}
		case <-troubles: // an overflow: something was missed
			s.begin("")
		case <-net.C:
			beginIfChanged()
		case <-s.timer.C:
			if s.waitsForWriter(v) {
				continue
			}
			v.arm()
			if seen := v.look(); !maps.Equal(seen, v.last) {
				v.last = seen
				onChange()
			}
		}
	}
}

// settle is one burst of events, which ends when it has been quiet.
type settle struct {
	timer *time.Timer
	since time.Time // of the first event; zero between bursts
	paths map[string]bool
}

func newSettle() *settle {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &settle{timer: timer, paths: map[string]bool{}}
}

// begin begins or prolongs a burst; path is what it is about, if known.
func (s *settle) begin(path string) {
	now := time.Now()
	if s.since.IsZero() {
		s.since = now
	}
	if path != "" {
		s.paths[path] = true
	}
	s.timer.Reset(max(0, min(quiet, s.since.Add(longestWait).Sub(now))))
}

// waitsForWriter prolongs the burst while somebody has one of its files open
// for writing: it would be read half-written. Not for ever.
func (s *settle) waitsForWriter(v *view) bool {
	for _, source := range v.sources {
		if source.sight == content {
			s.paths[source.path] = true
		}
	}
	if time.Since(s.since) < longestOpen {
		for path := range s.paths {
			if openForWriting(path) {
				s.timer.Reset(quiet)
				return true
			}
		}
	}
	s.since = time.Time{}
	clear(s.paths)
	return false
}
