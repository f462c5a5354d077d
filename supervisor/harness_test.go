package supervisor_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/clock"
	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// TestMain turns the test binary into a child when the environment says so.
func TestMain(m *testing.M) {
	if misbehaviour := os.Getenv("BAILIFF_TEST_CHILD"); misbehaviour != "" {
		os.Exit(child(misbehaviour))
	}
	os.Exit(m.Run())
}

// bench is a real queue and a configuration, and runs supervisors on them.
type bench struct {
	testing.TB
	queue  *sqlite.Queue
	clock  queue.Clock
	dir    string
	config *config.Config
	log    hclog.Logger
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{TB: t, clock: clock.System(), dir: dir, log: hclog.NewNullLogger()}
	if testing.Verbose() {
		b.log = hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: testLog{t}})
	}
	path := filepath.Join(dir, "queue.db")
	if err := sqlite.Create(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	q, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: b.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	b.queue = q
	b.config = &config.Config{
		Path: filepath.Join(dir, "config.hcl"), Dir: dir, Database: path, StateDir: filepath.Join(dir, "state"),
		Lease:    config.Lease{Duration: 30 * time.Second, Renew: 10 * time.Second},
		Shutdown: config.Shutdown{Drain: 30 * time.Second},
		Handlers: map[string]*config.Handler{},
	}
	return b
}

type testLog struct{ testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

// handler is a handler with the documented defaults.
func (b *bench) handler(kind string) *config.Handler {
	h := &config.Handler{
		Kind: kind, Protocol: config.Plain, Concurrency: 1,
		Timeout: time.Hour, StartTimeout: 2 * time.Minute, Grace: 10 * time.Second, IdleTimeout: 10 * time.Minute,
		Dir:   b.dir,
		Retry: config.Retry{MaxAttempts: 20, BaseDelay: 10 * time.Second, MaxDelay: time.Hour},
		Exit:  config.Exit{Other: config.OtherRetry},
	}
	b.config.Handlers[kind] = h
	return h
}

// script is a plain handler whose file is a shell script with this body.
func (b *bench) script(kind, body string) *config.Handler {
	b.Helper()
	h := b.handler(kind)
	h.File = filepath.Join(b.dir, kind+".sh")
	h.Command = []string{h.File}
	b.write(h.File, "#!/bin/sh\n"+body+"\n")
	return h
}

// write makes an executable file, whole or not at all.
func (b *bench) write(path, text string) {
	b.Helper()
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte(text), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		b.Fatal(err)
	}
}

// lines is a lines handler that behaves as child says.
func (b *bench) lines(kind, behaviour string) *config.Handler {
	b.Helper()
	h := b.handler(kind)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	h.Protocol = config.Lines
	h.Command = []string{self}
	h.Env = map[string]string{"BAILIFF_TEST_CHILD": behaviour, "BAILIFF_TEST_DIR": b.dir}
	return h
}

func (b *bench) enqueue(kind, key string) queue.Job {
	b.Helper()
	return b.enqueueWith(queue.NewJob{Kind: kind, Key: key, Payload: jsontext.Value(`{}`)})
}

func (b *bench) enqueueWith(job queue.NewJob) queue.Job {
	b.Helper()
	e, err := b.queue.Enqueue(b.Context(), job)
	if err != nil {
		b.Fatal(err)
	}
	return e.Job
}

func (b *bench) supervisor(change func(*supervisor.Options)) *supervisor.Supervisor {
	opt := supervisor.Options{
		Queue: b.queue, Clock: b.clock, Logger: b.log, Config: b.config,
		Worker: "bench", Database: b.config.Database, Binary: "/opt/bailiff/bin/bailiff",
	}
	if change != nil {
		change(&opt)
	}
	return supervisor.New(opt)
}

// runUntilIdle runs a supervisor until nothing is left to do.
func (b *bench) runUntilIdle() error {
	return b.supervisor(func(o *supervisor.Options) { o.UntilIdle = true }).Run(context.Background())
}

// service is a running supervisor that a test must end.
type service struct {
	*bench
	*supervisor.Supervisor
	done chan error
}

// serve starts a service; it is aborted when the test ends, if it still runs.
func (b *bench) serve(change func(*supervisor.Options)) *service {
	s := &service{bench: b, Supervisor: b.supervisor(change), done: make(chan error, 1)}
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.done <- s.Supervisor.Run(context.Background())
	}()
	b.Cleanup(func() {
		s.Abort()
		<-over
	})
	return s
}

// drain ends the service gently.
func (s *service) drain() error {
	s.Drain()
	return <-s.done
}

// awaitStatus waits until the service's status fits.
func (s *service) awaitStatus(fits func(status) bool) {
	s.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if fits(s.Status()) {
			return
		}
		tick := time.NewTimer(5 * time.Millisecond)
		<-tick.C
	}
	s.Fatalf("the status never fitted: %+v", s.Status())
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// job is the job as it stands.
func (b *bench) job(kind, key string) queue.Job {
	b.Helper()
	job, err := b.queue.Get(context.Background(), queue.Ref{Kind: kind, Key: key})
	if err != nil {
		b.Fatal(err)
	}
	return job
}

// await waits for commits until the job fits.
func (b *bench) await(kind, key string, fits func(queue.Job) bool) queue.Job {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	changes, err := b.queue.Changes(ctx)
	if err != nil {
		b.Fatal(err)
	}
	for {
		job := b.job(kind, key)
		if fits(job) {
			return job
		}
		if _, open := <-changes; !open {
			b.Fatalf("%s/%s: still %s (%s)", kind, key, job.State, job.LastError)
		}
	}
}

func (b *bench) awaitState(kind, key string, state queue.State) queue.Job {
	b.Helper()
	return b.await(kind, key, func(j queue.Job) bool { return j.State == state })
}

// awaitFile waits until a handler has made the file.
func (b *bench) awaitFile(name string) string {
	b.Helper()
	path := filepath.Join(b.dir, name)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			return string(text)
		}
		tick := time.NewTimer(5 * time.Millisecond)
		<-tick.C
	}
	b.Fatalf("%s was never written", name)
	return ""
}

// expect checks where a job went and what its reason tells.
func (b *bench) expect(job queue.Job, state queue.State, reason ...string) {
	b.Helper()
	if job.State != state {
		b.Errorf("%s/%s is %s, want %s (%s)", job.Kind, job.Key, job.State, state, job.LastError)
	}
	for _, words := range reason {
		if !strings.Contains(job.LastError, words) {
			b.Errorf("%s/%s: reason %q does not tell %q", job.Kind, job.Key, job.LastError, words)
		}
	}
}

// reconfigured is the configuration with other handlers.
func (b *bench) reconfigured(change func(handlers map[string]*config.Handler)) *config.Config {
	fresh := *b.config
	fresh.Handlers = maps.Clone(b.config.Handlers)
	change(fresh.Handlers)
	return &fresh
}

var errFailing = supervisor.ErrFailing

func mustNil(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
