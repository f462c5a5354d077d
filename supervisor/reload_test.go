package supervisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/config"
)

// TestReload: all or nothing, and only what changed is touched.
func TestReload(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lines("warm", "pid")
	b.script("old", "exit 65")
	var next atomic.Pointer[config.Config]
	reports := make(chan status, 1)
	s := b.serve(func(o *options) {
		o.Load = func() (*config.Config, error) {
			if c := next.Load(); c != nil {
				return c, nil
			}
			return nil, errors.New("config.hcl:3: unknown attribute")
		}
		o.OnStatus = func(st status) {
			select {
			case <-reports:
			default:
			}
			reports <- st
		}
	})
	b.enqueue("warm", "1")
	before := b.awaitState("warm", "1", queue.StateDone)

	s.Reload()
	for st := range reports {
		if st.ReloadError != "" {
			if !strings.Contains(st.ReloadError, "config.hcl:3") || len(st.Handlers) != 2 {
				t.Errorf("after a bad file: %q, %d handlers", st.ReloadError, len(st.Handlers))
			}
			break
		}
	}
	b.enqueue("old", "1")
	b.awaitState("old", "1", queue.StateDead)

	next.Store(b.reconfigured(func(handlers map[string]*config.Handler) {
		delete(handlers, "old")
		same := *handlers["warm"]
		handlers["warm"] = &same
		fresh := *b.script("new", "exit 0")
		handlers["new"] = &fresh
	}))
	s.Reload()
	b.enqueue("new", "1")
	b.awaitState("new", "1", queue.StateDone)
	b.enqueue("warm", "2")
	if after := b.awaitState("warm", "2", queue.StateDone); string(after.Result) != string(before.Result) {
		t.Errorf("the unchanged handler's child %s was replaced by %s", before.Result, after.Result)
	}
	st := s.Status()
	if st.ReloadError != "" || len(st.Handlers) != 2 || st.Handlers[0].Kind != "new" {
		t.Errorf("after a good file: error %q, handlers %+v", st.ReloadError, st.Handlers)
	}
	mustNil(t, s.drain())
}

// TestReloadKeepsSlots: the run of a changed handler ends under its old
// settings, and its slot counts until then.
func TestReloadKeepsSlots(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := b.script("k", `echo $BAILIFF_KEY >>"$DIR/began"; while [ ! -s "$DIR/go" ]; do sleep 0.02; done; echo "\"$MODE\""`)
	h.Env = map[string]string{"DIR": b.dir, "MODE": "old"}
	fresh := b.reconfigured(func(handlers map[string]*config.Handler) {
		changed := *h
		changed.Env = map[string]string{"DIR": b.dir, "MODE": "new"}
		handlers["k"] = &changed
	})
	b.enqueue("k", "1")
	b.enqueue("k", "2")
	s := b.serve(func(o *options) { o.Load = func() (*config.Config, error) { return fresh, nil } })
	b.awaitFile("began")
	loaded := s.Status().LoadedAt
	s.Reload()
	s.awaitStatus(func(st status) bool { return st.LoadedAt.After(loaded) })
	if job := b.job("k", "2"); job.State != queue.StateReady {
		t.Errorf("the second job is %s while the first holds the only slot", job.State)
	}
	mustNil(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("go"), 0o600))
	first, second := b.awaitState("k", "1", queue.StateDone), b.awaitState("k", "2", queue.StateDone)
	if string(first.Result) != `"old"` || string(second.Result) != `"new"` {
		t.Errorf("results %s and %s, want the old settings and the new", first.Result, second.Result)
	}
	// What nothing runs in any more is forgotten without another reload.
	s.awaitStatus(func(status) bool { return s.Retired() == 0 })
	mustNil(t, s.drain())
}

// reloadNow reloads and waits until that is done.
func (s *service) reloadNow() {
	before := s.Status().LoadedAt
	s.Reload()
	s.awaitStatus(func(st status) bool { return st.LoadedAt.After(before) })
}

// TestReloadWhileLooking: a configuration that is replaced while the dispatcher
// looks for work claims nothing any more: a changed handler's jobs all run under
// the new one, never more at a time than it allows, and a removed handler's wait.
func TestReloadWhileLooking(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		b := newBench(t)
		h := b.script("k", `mkdir "$DIR/running" || echo two >"$DIR/two"; sleep 0.2; rmdir "$DIR/running"; echo "\"$MODE\""`)
		h.Env = map[string]string{"DIR": b.dir, "MODE": "old"}
		fresh := b.reconfigured(func(handlers map[string]*config.Handler) {
			delete(handlers, "k")
			if !removed {
				changed := *h
				changed.Env = map[string]string{"DIR": b.dir, "MODE": "new"}
				handlers["k"] = &changed
			}
		})
		b.enqueue("k", "1")
		b.enqueue("k", "2")
		var s *service
		serving, looked := make(chan struct{}), make(chan struct{}, 100)
		looks := 0
		q := &hooked{Queue: b.queue, agenda: func(*queue.Agenda) error {
			<-serving
			if looks++; looks == 1 {
				s.reloadNow()
			}
			select {
			case looked <- struct{}{}:
			default:
			}
			return nil
		}}
		s = b.serve(func(o *options) {
			o.Queue = q
			o.Load = func() (*config.Config, error) { return fresh, nil }
		})
		close(serving)
		<-looked
		<-looked // what the first look led to is over
		for _, key := range []string{"1", "2"} {
			if removed {
				if job := b.job("k", key); job.Fence != 0 {
					t.Errorf("job %s was claimed for a handler that is gone", key)
				}
				continue
			}
			if job := b.awaitState("k", key, queue.StateDone); string(job.Result) != `"new"` {
				t.Errorf("job %s ran under the %s settings", key, job.Result)
			}
		}
		if _, err := os.Stat(filepath.Join(b.dir, "two")); err == nil {
			t.Error("two ran at a time on one slot")
		}
		mustNil(t, s.drain())
	}
}

// TestReloadWhileClaiming: a lease is kept as the configuration that it was
// claimed under says, whatever comes between the claim and its keeping.
func TestReloadWhileClaiming(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Lease = config.Lease{Duration: time.Second, Renew: 300 * time.Millisecond}
	b.script("k", `exit 0`)
	fresh := b.reconfigured(func(map[string]*config.Handler) {})
	fresh.Lease = config.Lease{Duration: 30 * time.Second, Renew: 10 * time.Second}
	var s *service
	serving := make(chan struct{})
	q := &hooked{Queue: b.queue, claimed: func() {
		<-serving
		s.reloadNow()
	}}
	b.enqueue("k", "1")
	s = b.serve(func(o *options) {
		o.Queue = q
		o.Load = func() (*config.Config, error) { return fresh, nil }
	})
	close(serving)
	b.awaitState("k", "1", queue.StateDone)
	mustNil(t, s.drain())
}
