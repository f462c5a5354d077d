package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// N49: enqueue while another program holds the database's lock now and then, killed
// at random moments. Whatever a caller was told, the same command again makes it
// true: one job per key, and exit status 0 only for what is stored.
func TestEnqueueKilledAndRepeated(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	free := s.holdLock()
	payload := func(i int) string { return fmt.Sprintf("n:=%d", i) }

	// Killed somewhere within twice of what one takes: some are, some are not.
	began := time.Now()
	s.run(0, "enqueue", "hello", "key-0", payload(0))
	took := time.Since(began)
	acknowledged := map[string]bool{"key-0": true}
	keys, killed := 1, 0
	for ; keys < 500 && (killed < 10 || len(acknowledged) < 10); keys++ {
		key := fmt.Sprintf("key-%d", keys)
		cmd := s.command("enqueue", "hello", key, payload(keys))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(2*took), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		switch {
		case err == nil:
			acknowledged[key] = true
		case !cmd.ProcessState.Exited():
			killed++
		default:
			t.Fatalf("%s: %v: %s", key, err, stderr.Bytes())
		}
	}
	free()
	t.Logf("%d keys: %d ended well, %d were killed", keys, len(acknowledged), killed)
	if killed < 10 || len(acknowledged) < 10 {
		t.Error("too few of one sort: this shows nothing")
	}
	stored := s.allKeys("bailiff.db")
	for key := range acknowledged {
		if !stored[key] {
			t.Errorf("%s ended with 0 and is not stored", key)
		}
	}
	for i := range keys {
		key := fmt.Sprintf("key-%d", i)
		var again enqueuedJSON
		s.json(&again, "enqueue", "hello", key, payload(i), "--json")
		if again.Created == stored[key] {
			t.Errorf("%s: stored before: %v, and the same again says created: %v", key, stored[key], again.Created)
		}
	}
	if n := len(s.allKeys("bailiff.db")); n != keys {
		t.Errorf("%d jobs for %d keys", n, keys)
	}
	s.run(0, "doctor")
}

// holdLock lets another program hold the database's write lock most of the time,
// until free is called.
func (s *site) holdLock() (free func()) {
	s.t.Helper()
	locker := exec.Command("python3", "-c", `
import sqlite3, time
db = sqlite3.connect("bailiff.db", isolation_level=None, timeout=30)
while True:
    db.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    time.sleep(0.03)
    db.execute("ROLLBACK")
    time.sleep(0.02)
`)
	locker.Dir = s.dir
	held := &firstWrite{there: make(chan struct{})}
	locker.Stdout = held
	if err := locker.Start(); err != nil {
		s.t.Fatal(err)
	}
	free = sync.OnceFunc(func() {
		_ = locker.Process.Kill()
		_ = locker.Wait()
	})
	s.t.Cleanup(free)
	<-held.there
	return free
}

// firstWrite tells of the first thing that is written to it.
type firstWrite struct {
	there chan struct{}
	seen  bool
}

func (f *firstWrite) Write(p []byte) (int, error) {
	if !f.seen {
		f.seen = true
		close(f.there)
	}
	return len(p), nil
}
