package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// What was pruned is not found, and whoever asks for it is told what it was: by its
// key, whatever is asked; by its number as far as that can be known.
func TestPrunedJobsAreMissedInWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.doneJob(newJob("a", "1"))
	f.clock.Advance(2 * time.Hour)
	if all := f.prunesAll(queue.Pruning{Keep: anHour}); all.Jobs != 1 {
		t.Fatalf("pruned %d jobs", all.Jobs)
	}
	key := queue.Ref{Kind: "a", Key: "1"}
	for what, ask := range map[string]func() error{
		"get":     func() error { _, err := f.Get(t.Context(), key); return err },
		"cancel":  func() error { _, err := f.Cancel(t.Context(), key); return err },
		"requeue": func() error { _, err := f.Requeue(t.Context(), key, queue.Requeue{}); return err },
		"rerun":   func() error { _, err := f.Rerun(t.Context(), key, queue.Rerun{Key: "2"}); return err },
	} {
		var pruned *queue.PrunedError
		if err := ask(); !errors.As(err, &pruned) || !errors.Is(err, queue.ErrNotFound) ||
			pruned.Job.ID != 1 || pruned.Job.State != queue.StateDone || pruned.Job.FinishedAt.IsZero() {
			t.Errorf("%s: %v", what, err)
		}
	}
	for id, words := range map[int64]bool{1: true, 2: false} {
		_, err := f.Get(t.Context(), queue.Ref{ID: id})
		if !errors.Is(err, queue.ErrNotFound) || strings.Contains(err.Error(), "may have been pruned") != words {
			t.Errorf("job %d: %v", id, err)
		}
	}
}

// In a restored queue a number that is missing may be of a job that the old queue was
// given after the snapshot.
func TestJobsOfTheOldQueueAreMissedInWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.add(newJob("a", "1"))
	folder := t.TempDir()
	snapshot, path := filepath.Join(folder, "snapshot.db"), filepath.Join(folder, "new.db")
	if _, err := f.Backup(t.Context(), snapshot, nil); err != nil {
		t.Fatal(err)
	}
	r, err := sqlite.Restore(t.Context(), snapshot, path, f.options(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restored := f.open(path)
	const gap = " may have been pruned since or belongs to the queue this was restored from: "
	for id, want := range map[int64]bool{2: true, r.NextID - 1: true, r.NextID: false} {
		_, err := restored.Get(t.Context(), queue.Ref{ID: id})
		if !errors.Is(err, queue.ErrNotFound) || strings.Contains(err.Error(), gap) != want {
			t.Errorf("job %d: %v", id, err)
		}
	}
	if restored.UID() != f.UID() || len(f.UID()) != 32 {
		t.Errorf("the uid was %s and is %s", f.UID(), restored.UID())
	}
}
