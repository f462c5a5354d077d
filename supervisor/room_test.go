package supervisor_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
)

// TestRoom: below min_free nothing is started, what runs goes on and is recorded,
// and it goes on by itself. One line tells of each change.
func TestRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var log bytes.Buffer
	b.log = hclog.New(&hclog.LoggerOptions{Output: &log})
	b.config.MinFree = 64 << 20
	h := b.script("k", `echo up >"$DIR/up"; until [ -s "$DIR/go" ]; do sleep 0.02; done`)
	h.Env, h.Concurrency = map[string]string{"DIR": b.dir}, 2
	b.lines("l", "done")
	var free atomic.Int64
	free.Store(64 << 20)
	q := &hooked{Queue: b.queue, free: func() (int64, error) { return free.Load(), nil }}
	b.enqueue("k", "1")
	s := b.serve(func(o *options) { o.Queue = q })
	b.awaitFile("up")
	free.Store(12 << 20)
	b.enqueue("k", "2")
	b.enqueue("l", "1")
	s.awaitStatus(func(st status) bool {
		return st.Disk != nil && st.Handlers[0].Waiting == 1 && st.Handlers[1].Waiting == 1
	})
	st := s.Status()
	if st.Disk.Free != 12<<20 || st.Disk.Limit != 64<<20 || st.Disk.Database <= 0 || st.Disk.Since.IsZero() {
		t.Errorf("status %+v", st.Disk)
	}
	if st.Handlers[1].Starting+st.Handlers[1].Ready != 0 {
		t.Errorf("a child was started for nothing: %+v", st.Handlers[1])
	}
	mustNil(t, os.WriteFile(filepath.Join(b.dir, "go"), []byte("go"), 0o600))
	b.awaitState("k", "1", queue.StateDone)
	for _, kind := range []string{"k", "l"} {
		key := map[string]string{"k": "2", "l": "1"}[kind]
		if job := b.job(kind, key); job.Fence != 0 {
			t.Errorf("%s/%s was claimed", kind, key)
		}
	}
	free.Store(65 << 20)
	b.awaitState("k", "2", queue.StateDone)
	b.awaitState("l", "1", queue.StateDone)
	if st := s.Status(); st.Disk != nil {
		t.Errorf("status %+v, want room", st.Disk)
	}
	mustNil(t, s.drain())
	for _, line := range []string{"too little free space: no new jobs are started", "enough free space again"} {
		if n := strings.Count(log.String(), line); n != 1 {
			t.Errorf("%d lines %q, want one:\n%s", n, line, log.String())
		}
	}
	if !strings.Contains(log.String(), `free="12.0 MiB" why="min_free is 64.0 MiB" running=1`) {
		t.Errorf("the line does not tell how much:\n%s", log.String())
	}
}

// TestRoomOfTheReserve: while the queue's reserve is given up, what is free is the
// reserve's own room, whatever min_free asks for.
func TestRoomOfTheReserve(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var log bytes.Buffer
	b.log = hclog.New(&hclog.LoggerOptions{Output: &log})
	b.config.MinFree = 4 << 20
	b.script("k", "exit 0")
	var needs atomic.Int64
	needs.Store(16 << 20)
	q := &hooked{Queue: b.queue, free: func() (int64, error) { return 8 << 20, nil }, needs: needs.Load}
	b.enqueue("k", "1")
	s := b.serve(func(o *options) { o.Queue = q })
	s.awaitStatus(func(st status) bool { return st.Disk != nil && st.Handlers[0].Waiting == 1 })
	if st := s.Status(); st.Disk.Free != 8<<20 || st.Disk.Limit != 16<<20 || !st.Disk.Reserve {
		t.Errorf("status %+v", st.Disk)
	}
	if job := b.job("k", "1"); job.Fence != 0 {
		t.Error("it was claimed")
	}
	needs.Store(0)
	b.awaitState("k", "1", queue.StateDone)
	mustNil(t, s.drain())
	if !strings.Contains(log.String(), `free="8.0 MiB" why="the reserve is given up, it goes on with 16.0 MiB"`) {
		t.Errorf("the log does not tell why:\n%s", log.String())
	}
}

// TestRoomOfARunThatEnds: who does not stay to wait for space says so.
func TestRoomOfARunThatEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.MinFree = 64 << 20
	b.script("k", "exit 0")
	full := func(o *options) {
		o.Queue = &hooked{Queue: b.queue, free: func() (int64, error) { return 1 << 20, nil }}
		o.UntilIdle = true
	}
	result, err := b.supervisor(full).RunOne(t.Context())
	mustNil(t, err)
	if result.Outcome != supervisor.OneIdle {
		t.Errorf("without a job: %s, want idle", result.Outcome)
	}
	b.enqueue("k", "1")
	result, err = b.supervisor(full).RunOne(t.Context())
	wantError(t, err, supervisor.ErrNoRoom)
	if result.Outcome != supervisor.OneIdle || !strings.Contains(err.Error(), "1.0 MiB free, min_free is 64.0 MiB") {
		t.Errorf("outcome %s, error %v", result.Outcome, err)
	}
	wantError(t, b.supervisor(full).Run(t.Context()), supervisor.ErrNoRoom)
	unknown := func(o *options) {
		o.Queue = &hooked{Queue: b.queue, free: func() (int64, error) { return 0, errors.New("not told here") }}
		o.UntilIdle = true
	}
	mustNil(t, b.supervisor(unknown).Run(t.Context()))
	b.expect(b.job("k", "1"), queue.StateDone)
}
