package upkeep_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/upkeep"
)

// bubbleClock is the time of the test's bubble, which moves on only when everybody
// waits; the wall clock can be set.
type bubbleClock struct {
	start time.Time
	step  atomic.Int64
}

func (c *bubbleClock) Now() time.Time      { return time.Now().Add(time.Duration(c.step.Load())) }
func (c *bubbleClock) Mono() time.Duration { return time.Since(c.start) }
func (c *bubbleClock) Boot() string        { return "bubble" }

// fakeQueue answers what a test says and keeps what it was asked.
type fakeQueue struct {
	prune func(queue.Pruning) (queue.Pruned, error) // nil: nothing to do
	save  func(path string) error                   // before the snapshot is made; nil: fine

	mu      sync.Mutex
	prunes  []time.Time
	backups []string // names
}

func (q *fakeQueue) Prune(_ context.Context, p queue.Pruning) (queue.Pruned, error) {
	q.mu.Lock()
	q.prunes = append(q.prunes, time.Now())
	q.mu.Unlock()
	if q.prune == nil {
		return queue.Pruned{}, nil
	}
	return q.prune(p)
}

func (q *fakeQueue) Backup(_ context.Context, path string, _ func(done, total int64)) (queue.Backup, error) {
	q.mu.Lock()
	q.backups = append(q.backups, filepath.Base(path))
	q.mu.Unlock()
	if q.save != nil {
		if err := q.save(path); err != nil {
			return queue.Backup{}, err
		}
	}
	if _, err := os.Stat(path); err == nil {
		return queue.Backup{}, fs.ErrExist
	}
	return queue.Backup{Path: path, Bytes: 8192, Took: 3 * time.Second}, os.WriteFile(path, database(2), 0o600)
}

// asked is when jobs were pruned.
func (q *fakeQueue) asked() []time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.prunes)
}

// made is the names of the snapshots that were asked for.
func (q *fakeQueue) made() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.backups)
}

// database is the text of a database of so many pages.
func database(pages uint32) []byte {
	text := make([]byte, pages*4096)
	copy(text, "SQLite format 3\x00")
	binary.BigEndian.PutUint16(text[16:], 4096)
	binary.BigEndian.PutUint32(text[28:], pages)
	return text
}

// bench is an Upkeep that runs in a bubble. In a bubble it is the year 2000.
type bench struct {
	*testing.T
	*upkeep.Upkeep
	queue  *fakeQueue
	clock  *bubbleClock
	folder string
	log    logText
	end    func()
	told   atomic.Int64 // times that OnStatus was called
}

// logText is a log that can be read while it is written.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// inBubble runs a test in a bubble with an Upkeep that it starts itself.
func inBubble(t *testing.T, settings upkeep.Settings, q *fakeQueue, test func(b *bench)) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "backups")
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, queue: q, clock: &bubbleClock{start: time.Now()}, folder: folder}
		if settings.Backup != nil {
			settings.Backup.Folder = folder
		}
		b.Upkeep = upkeep.New(upkeep.Options{
			Queue: q, Clock: b.clock, Database: "/srv/shop.db", UID: "1a2b3c4d5e6f708192a3b4c5d6e7f809", Settings: settings,
			Logger:   hclog.New(&hclog.LoggerOptions{Output: &b.log}),
			OnStatus: func() { b.told.Add(1) },
		})
		test(b)
		if b.end != nil {
			b.end()
		}
	})
}

// start runs the Upkeep until the test ends.
func (b *bench) start() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Upkeep.Run(ctx)
	}()
	b.end = func() {
		cancel()
		<-done
	}
	synctest.Wait()
}

// pass lets time pass.
func (b *bench) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// logged counts the log lines that hold words.
func (b *bench) logged(words string) int { return strings.Count(b.log.String(), words) }

// wantLogged requires a number of log lines that hold words.
func (b *bench) wantLogged(n int, words string) {
	b.Helper()
	if got := b.logged(words); got != n {
		b.Errorf("%d log lines with %q, want %d:\n%s", got, words, n, b.log.String())
	}
}

func TestPruneSoonThenEachMinute(t *testing.T) {
	t.Parallel()
	keep := queue.Retention{Done: time.Hour}
	q := &fakeQueue{}
	q.prune = func(p queue.Pruning) (queue.Pruned, error) {
		if p.Keep != keep || p.Limit != 0 || p.Kind != "" || p.DryRun {
			t.Errorf("asked for %+v", p)
		}
		return queue.Pruned{}, nil
	}
	inBubble(t, upkeep.Settings{Retention: keep}, q, func(b *bench) {
		began := time.Now()
		b.start()
		b.pass(3 * time.Minute)
		var at []time.Duration
		for _, when := range q.asked() {
			at = append(at, when.Sub(began))
		}
		if want := []time.Duration{5 * time.Second, 65 * time.Second, 125 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("looked after %v, want %v", at, want)
		}
		b.wantLogged(0, "forgotten") // nothing to tell
		if st := b.Status(); st.Prune.LastAt.Sub(began) != 125*time.Second || st.Backup != nil {
			t.Errorf("status %+v", st)
		}
	})
}

// TestPruneTakesATenth: however long the calls take, nine parts of the time are
// left to others; what was done is told in one line.
func TestPruneTakesATenth(t *testing.T) {
	t.Parallel()
	const took = 20 * time.Millisecond
	q := &fakeQueue{}
	left := 50
	q.prune = func(queue.Pruning) (queue.Pruned, error) {
		time.Sleep(took)
		if left--; left < 0 {
			return queue.Pruned{}, nil
		}
		return queue.Pruned{Jobs: 200, More: left > 0, Freed: 4096}, nil
	}
	inBubble(t, upkeep.Settings{Retention: queue.Retention{Dead: time.Minute}}, q, func(b *bench) {
		b.start()
		b.pass(5*time.Second + 49*10*took + took)
		if len(q.asked()) != 50 {
			t.Errorf("%d calls, want 50", len(q.asked()))
		}
		for i := 1; i < 50; i++ {
			if gap := q.asked()[i].Sub(q.asked()[i-1]); gap != 10*took {
				t.Fatalf("call %d began %v after the one before, want %v", i, gap, 10*took)
			}
		}
		b.wantLogged(1, "forgotten: jobs=10000 freed=204800 took=9.82s")
		if st := b.Status(); st.Prune.Jobs != 10_000 || st.Prune.Freed != 50*4096 {
			t.Errorf("status %+v", st.Prune)
		}
	})
}

// TestPruneTellsOfALongRound: a backlog of hours is told of each minute.
func TestPruneTellsOfALongRound(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{prune: func(queue.Pruning) (queue.Pruned, error) {
		time.Sleep(time.Second)
		return queue.Pruned{Jobs: 200, More: true}, nil
	}}
	inBubble(t, upkeep.Settings{Retention: queue.Retention{Done: time.Minute}}, q, func(b *bench) {
		b.start()
		b.pass(5*time.Second + 10*time.Minute)
		if n := b.logged("forgotten"); n < 8 || n > 10 {
			t.Errorf("%d lines in ten minutes:\n%s", n, b.log.String())
		}
		if n := len(q.asked()); n < 59 || n > 61 {
			t.Errorf("%d calls of a second each in ten minutes, want about 60", n)
		}
	})
}

// TestPruneStepsBack: while the queue is busy or full the tries become rare, and
// two lines tell of it.
func TestPruneStepsBack(t *testing.T) {
	t.Parallel()
	var answer atomic.Pointer[error]
	says := func(err error) { answer.Store(&err) }
	q := &fakeQueue{prune: func(queue.Pruning) (queue.Pruned, error) { return queue.Pruned{}, *answer.Load() }}
	inBubble(t, upkeep.Settings{Retention: queue.Retention{Done: time.Minute}}, q, func(b *bench) {
		says(fmt.Errorf("prune: %w", queue.ErrFull))
		b.start()
		b.pass(5 * time.Second)
		began := time.Now()
		b.pass(10 * time.Minute)
		says(fmt.Errorf("prune: %w", queue.ErrBusy))
		if n := len(q.asked()); n > 18 {
			t.Errorf("%d tries in ten minutes", n)
		}
		if gap := q.asked()[1].Sub(q.asked()[0]); gap != time.Second {
			t.Errorf("the second try came after %v", gap)
		}
		if st := b.Status(); st.Prune.Error != "prune: disk full" || st.Prune.LastAt.After(began) {
			t.Errorf("status %+v", st.Prune)
		}
		b.pass(2 * time.Minute)
		says(nil)
		b.pass(2 * time.Minute)
		b.wantLogged(1, "not forgotten for now")
		b.wantLogged(1, "looked for again")
		if st := b.Status(); st.Prune.Error != "" {
			t.Errorf("status %+v", st.Prune)
		}
	})
}

// TestPruneDoubtsAClockThatWentAhead: after a wall clock that went ahead by more than a
// day nothing is forgotten for an hour, whatever it reads meanwhile.
func TestPruneDoubtsAClockThatWentAhead(t *testing.T) {
	t.Parallel()
	const hour = int64(time.Hour)
	q := &fakeQueue{}
	inBubble(t, upkeep.Settings{Retention: queue.Retention{Done: time.Hour}}, q, func(b *bench) {
		asked := func(atLeast, atMost int, what string) {
			t.Helper()
			if n := len(q.asked()); n < atLeast || n > atMost {
				t.Errorf("%s: asked %d times, want %d to %d", what, n, atLeast, atMost)
			}
			q.mu.Lock()
			q.prunes = nil
			q.mu.Unlock()
		}
		b.start()
		b.clock.step.Store(24 * hour) // before the first look
		b.pass(5 * time.Minute)
		asked(5, 5, "a day")
		b.clock.step.Add(-100 * hour)
		b.pass(5 * time.Minute)
		asked(5, 5, "set back")
		b.wantLogged(0, "WARN")

		b.clock.step.Add(25 * hour)
		b.pass(30 * time.Minute)
		b.wantLogged(1, "the wall clock went ahead: no finished jobs are forgotten for a while: ahead=25h0m0s wall=1999-12-29T21:1")
		if st := b.Status(); st.Prune.Error != "the wall clock went ahead by more than a day: nothing is forgotten for an hour" {
			t.Errorf("status %+v", st.Prune)
		}
		b.clock.step.Add(-25 * hour)
		b.pass(29 * time.Minute)
		asked(0, 0, "ahead, within an hour")
		b.pass(3 * time.Minute)
		asked(1, 2, "after an hour")
		b.wantLogged(1, "looked for again")
		b.wantLogged(1, "WARN")
		if st := b.Status(); st.Prune.Error != "" {
			t.Errorf("status %+v", st.Prune)
		}

		b.clock.step.Add(1000 * hour)
		b.pass(30 * time.Minute)
		b.clock.step.Add(1000 * hour)
		b.pass(59 * time.Minute)
		asked(0, 1, "ahead again within the hour")
		b.wantLogged(3, "WARN")
	})
}

// TestPruneDoubtsTheClockBetweenCalls: a long round looks at the clock before each call.
func TestPruneDoubtsTheClockBetweenCalls(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{}
	inBubble(t, upkeep.Settings{Retention: queue.Retention{Done: time.Hour}}, q, func(b *bench) {
		q.prune = func(queue.Pruning) (queue.Pruned, error) {
			b.clock.step.Store(int64(48 * time.Hour))
			return queue.Pruned{Jobs: 200, More: true}, nil
		}
		b.start()
		b.pass(time.Minute)
		if len(q.asked()) != 1 {
			t.Errorf("asked %d times, want once", len(q.asked()))
		}
	})
}

// TestPruneKeepsForEver: with nothing to forget nobody is asked, until that
// changes.
func TestPruneKeepsForEver(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{}
	inBubble(t, upkeep.Settings{}, q, func(b *bench) {
		b.start()
		b.pass(time.Hour)
		if len(q.asked()) != 0 {
			t.Errorf("asked %d times", len(q.asked()))
		}
		b.Apply(upkeep.Settings{Retention: queue.Retention{Done: time.Hour}})
		synctest.Wait()
		if len(q.asked()) != 1 {
			t.Errorf("after the change asked %d times, want once", len(q.asked()))
		}
	})
}

// TestEndsWithTheQueue: a queue that is closed is nobody's to retry.
func TestEndsWithTheQueue(t *testing.T) {
	t.Parallel()
	q := &fakeQueue{
		prune: func(queue.Pruning) (queue.Pruned, error) { return queue.Pruned{}, queue.ErrClosed },
		save:  func(string) error { return queue.ErrClosed },
	}
	settings := upkeep.Settings{Retention: queue.Retention{Done: time.Hour}, Backup: &upkeep.Backup{Every: time.Hour, Make: true, Keep: 1}}
	inBubble(t, settings, q, func(b *bench) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.Upkeep.Run(context.Background())
		}()
		<-done
		b.wantLogged(0, "WARN")
		b.wantLogged(0, "ERROR")
	})
}

var errDisk = errors.New("no space left on device")
