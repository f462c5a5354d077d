package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// A sync that fails while the log is copied is no secret.
func TestSyncThatFailsInACheckpoint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.FailCheckpoint(unsaid)
	f.add(newJob("a", "1"))
	// The log is looked at before the next request is.
	if _, err := f.Enqueue(t.Context(), newJob("a", "2")); !errors.Is(err, queue.ErrClosed) {
		t.Errorf("after it: %v, want closed", err)
	}
	f.reopen()
	if _, err := f.Get(t.Context(), queue.Ref{Kind: "a", Key: "1"}); err != nil {
		t.Errorf("what was accepted: %v", err)
	}
}

// logSize is how many bytes the write-ahead log takes.
func (f *fixture) logSize() int64 {
	f.Helper()
	info, err := os.Stat(f.Path() + "-wal")
	if err != nil {
		f.Fatal(err)
	}
	return info.Size()
}

// Reads that always overlap do not make the log grow without end.
func TestLogIsCutUnderReadsThatOverlap(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.BoundWAL(200)
	// A read is always under way: each ends only once the next has begun, as far as
	// reads may begin.
	ctx, cancel := context.WithCancel(context.Background())
	var reads sync.WaitGroup
	for range 3 {
		reads.Go(func() {
			for ctx.Err() == nil {
				if _, err := f.List(ctx, queue.Filter{Limit: queue.MaxPage}); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	most := int64(0)
	for i := range 400 {
		if err := f.enqueues(t.Context(), i, 20_000); err != nil {
			t.Fatal(err)
		}
		most = max(most, f.logSize())
	}
	cancel()
	reads.Wait()
	// 8 MB were written.
	if most > 4<<20 {
		t.Errorf("the log came to %d bytes", most)
	}
}

// safeBuffer may be written by several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *safeBuffer) count(s string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.String(), s)
}

// A reader of another program that holds the log is told of once, and holds up
// nobody else.
func TestReaderThatHoldsTheLogIsToldOf(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var log safeBuffer
	opt := f.options()
	opt.Logger = hclog.New(&hclog.LoggerOptions{Output: &log})
	q, err := sqlite.Open(t.Context(), f.Path(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	reader, err := raw(t, f.Path()).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var n int
	if _, err := reader.ExecContext(t.Context(), `BEGIN DEFERRED`); err != nil {
		t.Fatal(err)
	}
	if err := reader.QueryRowContext(t.Context(), `SELECT count(*) FROM jobs`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	q.BoundWAL(10)
	const told = "holds the write-ahead log open"
	i := 0
	for ; log.count(told) == 0; i++ {
		if _, err := q.Enqueue(t.Context(), newJob("a", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Get(t.Context(), queue.Ref{Kind: "a", Key: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		if _, err := q.Enqueue(t.Context(), newJob("a", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		i++
	}
	if n := log.count(told); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// An idle queue leaves nothing in the log that is not in the file.
func TestIdleQueueCopiesTheLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	c := raw(t, f.Path())
	until(func() bool {
		var busy, frames, copied int
		if err := c.QueryRow(`PRAGMA wal_checkpoint(NOOP)`).Scan(&busy, &frames, &copied); err != nil {
			t.Fatal(err)
		}
		return frames > 0 && copied >= frames
	})
}
