package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// N50: backups while a service works and 200 jobs a second are enqueued. The copy
// alone, elsewhere, holds all that was acknowledged before its backup began, and its
// receipt is true.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSite(t, "")
	s.write("handlers/work.sh", "#!/bin/sh\nexit 0\n", 0o755)
	service := s.command("run")
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Process.Kill() })
	load := s.startLoad()
	var acknowledged []string
	var receipt backupAnswer
	for round := range 3 {
		before := len(load.keys())
		s.await("200 more jobs", func() bool { return len(load.keys()) >= before+200 }, func() string { return "" })
		acknowledged, receipt = load.keys(), backupAnswer{}
		s.json(&receipt, "backup", fmt.Sprintf("snap-%d.db", round), "--json")
	}
	load.stop()
	_ = service.Process.Signal(syscall.SIGTERM)
	if err := service.Wait(); err != nil {
		t.Errorf("the service ended with %v", err)
	}

	copied, err := os.ReadFile(receipt.Path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(copied); hex.EncodeToString(sum[:]) != receipt.SHA256 || int64(len(copied)) != receipt.Bytes {
		t.Errorf("the receipt says %d bytes, SHA-256 %s; it is %d, %x", receipt.Bytes, receipt.SHA256, len(copied), sum)
	}
	if receipt.QuickCheck != "ok" {
		t.Errorf("quick_check says %q", receipt.QuickCheck)
	}
	if beside, _ := filepath.Glob(receipt.Path + "-*"); len(beside) > 0 {
		t.Errorf("beside the snapshot: %v", beside)
	}

	elsewhere := newSite(t, "")
	elsewhere.write("copy.db", string(copied), 0o600)
	var restored restoreAnswer
	elsewhere.json(&restored, "restore", "copy.db", "new.db", "--json")
	if restored.Jobs.all() != receipt.Jobs.all() || restored.Jobs["done"] != receipt.Jobs["done"] {
		t.Errorf("restored %v, the receipt of the snapshot says %v", restored.Jobs, receipt.Jobs)
	}
	if open := receipt.Jobs["scheduled"] + receipt.Jobs["ready"] + receipt.Jobs["leased"]; restored.Quarantined != open {
		t.Errorf("%d jobs quarantined, %d were not finished", restored.Quarantined, open)
	}
	elsewhere.run(0, "--db", "new.db", "doctor")
	there := elsewhere.allKeys("new.db")
	if int64(len(there)) != receipt.Jobs.all() {
		t.Errorf("%d jobs are listed, the receipt says %d", len(there), receipt.Jobs.all())
	}
	for _, key := range acknowledged {
		if !there[key] {
			t.Errorf("%s was acknowledged before the backup began and is not in it", key)
		}
	}
}

// counts are jobs by state.
type counts map[string]int64

func (c counts) all() (n int64) {
	for _, one := range c {
		n += one
	}
	return n
}

type backupAnswer struct {
	Path       string `json:"path"`
	SHA256     string `json:"sha256"`
	QuickCheck string `json:"quick_check"`
	Bytes      int64  `json:"bytes"`
	Jobs       counts `json:"jobs"`
}

type restoreAnswer struct {
	Quarantined int64  `json:"quarantined"`
	Jobs        counts `json:"jobs"`
}

// allKeys are the keys of all jobs, read page by page.
func (s *site) allKeys(db string) map[string]bool {
	s.t.Helper()
	keys := map[string]bool{}
	for after, more := int64(0), true; more; {
		more = false
		for line := range strings.Lines(s.run(0, "--db", db, "list", "--json", "--limit", "1000", "--after", fmt.Sprint(after))) {
			var job struct {
				ID  int64  `json:"id"`
				Key string `json:"key"`
			}
			if err := json.Unmarshal([]byte(line), &job); err != nil {
				s.t.Fatal(err)
			}
			keys[job.Key], after, more = true, job.ID, true
		}
	}
	return keys
}

// load is somebody who enqueues 200 jobs a second.
type load struct {
	site   *site
	ending chan struct{}
	once   sync.Once
	all    sync.WaitGroup

	mu           sync.Mutex
	acknowledged []string
}

// startLoad begins to enqueue: fifty jobs each quarter of a second with --each, and
// between them single ones.
func (s *site) startLoad() *load {
	l := &load{site: s, ending: make(chan struct{})}
	s.t.Cleanup(l.stop)
	l.all.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for round := 0; ; round++ {
			select {
			case <-l.ending:
				return
			case <-tick.C:
			}
			keys := make([]string, 50)
			for i := range keys {
				keys[i] = fmt.Sprintf("many-%d-%d", round, i)
			}
			cmd := s.command("enqueue", "work", "--each", "key")
			cmd.Stdin = strings.NewReader(strings.Join(keys, "\n"))
			l.run(cmd, keys...)
		}
	})
	l.all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-l.ending:
				return
			default:
			}
			key := fmt.Sprintf("one-%d", i)
			l.run(s.command("enqueue", "work", key), key)
		}
	})
	return l
}

// run keeps the keys that a command was to enqueue, once it has ended well.
func (l *load) run(cmd *exec.Cmd, keys ...string) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		l.site.t.Errorf("enqueue: %v: %s", err, stderr.Bytes())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acknowledged = append(l.acknowledged, keys...)
}

// keys are those acknowledged so far.
func (l *load) keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acknowledged[:len(l.acknowledged):len(l.acknowledged)]
}

// stop ends it; again does no harm.
func (l *load) stop() {
	l.once.Do(func() { close(l.ending) })
	l.all.Wait()
}
