package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// filled is a queue with so many jobs with payloads of 200 bytes, of which seven in
// ten are done.
func filled(t testing.TB, jobs int) *fixture {
	t.Helper()
	f := newFixture(t)
	payload := fmt.Appendf(nil, "%q", strings.Repeat("x", 198))
	for n := 0; n < jobs; {
		var list []queue.NewJob
		for range min(queue.MaxBatch, jobs-n) {
			list = append(list, queue.NewJob{Kind: "a", Key: fmt.Sprintf("key-%08d", n), Payload: payload})
			n++
		}
		if _, err := f.EnqueueMany(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var settling sync.WaitGroup
		for _, c := range f.claims(want("a", len(list)*7/10, queue.Rule{})) {
			settling.Go(func() {
				if _, err := f.Settle(t.Context(), queue.Settlement{ID: c.Job.ID, Token: c.Lease.Token, Outcome: queue.Outcome{Is: queue.RunDone}}); err != nil {
					t.Error(err)
				}
			})
		}
		settling.Wait()
	}
	return f
}

// BenchmarkBackup is a snapshot of 100 000 jobs, checked and on the disk.
func BenchmarkBackup(b *testing.B) {
	f := filled(b, 100_000)
	dir := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		made, err := f.Backup(context.Background(), filepath.Join(dir, fmt.Sprint(n)), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(made.Bytes)
		_ = os.Remove(made.Path)
	}
}

// BenchmarkRestore makes a queue of it.
func BenchmarkRestore(b *testing.B) {
	f := filled(b, 100_000)
	dir := b.TempDir()
	made, err := f.Backup(context.Background(), filepath.Join(dir, "snapshot"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(made.Bytes)
	n := 0
	for b.Loop() {
		n++
		r, err := sqlite.Restore(context.Background(), made.Path, filepath.Join(dir, fmt.Sprint(n)), sqlite.Options{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		_ = os.Remove(r.Path)
	}
}

// BenchmarkExamine is every check of a queue of 100 000 jobs that is open.
func BenchmarkExamine(b *testing.B) {
	f := filled(b, 100_000)
	for b.Loop() {
		if _, err := sqlite.Examine(context.Background(), f.Path(), sqlite.Options{}, sqlite.Known{}); err != nil {
			b.Fatal(err)
		}
	}
}
