package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/queuetest"
	"github.com/b1213022/bailiff/queue/sqlite"
)

// The engine keeps every rule of a queue.
func TestConformance(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, engine{})
}

var _ queuetest.Queue = (*sqlite.Queue)(nil)

// engine is this package as the suite knows engines.
type engine struct{}

func (engine) New(t testing.TB, c queue.Clock, random func() float64) queuetest.Store {
	t.Helper()
	s := &store{dir: memoryDir(t), opt: sqlite.Options{Clock: c, Random: random}, next: new(atomic.Int64)}
	s.path = s.name("db")
	s.made = func(path string) { t.Cleanup(func() { sound(t, path) }) }
	if err := sqlite.Create(t.Context(), s.path, s.opt); err != nil {
		t.Fatal(err)
	}
	s.made(s.path)
	return s
}

// store is a database file.
type store struct {
	dir  string
	path string
	opt  sqlite.Options
	next *atomic.Int64     // for the names of files
	made func(path string) // is told of every database
}

func (s *store) name(what string) string {
	return filepath.Join(s.dir, what+"-"+strconv.FormatInt(s.next.Add(1), 10)+".db")
}

func (s *store) Open(ctx context.Context) (queuetest.Queue, error) {
	q, err := sqlite.Open(ctx, s.path, s.opt)
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (s *store) Backup(ctx context.Context) (queuetest.Snapshot, queue.Backup, error) {
	q, err := sqlite.Open(ctx, s.path, s.opt)
	if err != nil {
		return nil, queue.Backup{}, err
	}
	to := s.name("snapshot")
	receipt, err := q.Backup(ctx, to, nil)
	return &snapshot{s, to}, receipt, errors.Join(err, q.Close())
}

// snapshot is a file that a backup made.
type snapshot struct {
	of   *store
	path string
}

func (s *snapshot) Restore(ctx context.Context) (queuetest.Store, queue.Restored, error) {
	other := *s.of
	other.path = s.of.name("restored")
	receipt, err := sqlite.Restore(ctx, s.path, other.path, other.opt, nil)
	if err != nil {
		return nil, receipt, err
	}
	other.made(other.path)
	return &other, receipt, nil
}

// memoryDir is a folder whose files need no disk, where the system has one: what is
// tested here is what an engine answers, not what a disk keeps.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "bailiff-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
