package supervisor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// ErrNoRoom: with UntilIdle, and for RunOne, jobs wait and there is less free space
// than min_free asks for, or than the queue needs.
var ErrNoRoom = errors.New("too little free space to start a job")

// roomEvery is how often free space is looked at while there is too little.
const roomEvery = 3 * time.Second

// DiskStatus is why nothing is claimed: less space is free than min_free asks for or,
// while the queue's reserve is given up, than it takes to fill that again. Until then
// what is free is the reserve's own room.
type DiskStatus struct {
	Since    time.Time `json:"since"`
	Free     int64     `json:"free"`     // bytes on the database's file system
	Limit    int64     `json:"limit"`    // min_free, or more
	Reserve  bool      `json:"reserve"`  // the reserve is given up, and Limit what that takes
	Database int64     `json:"database"` // bytes of the database and its write-ahead log
}

// why says which limit it is.
func (d *DiskStatus) why() string {
	if d.Reserve {
		return "the reserve is given up, it goes on with " + inBytes(d.Limit)
	}
	return "min_free is " + inBytes(d.Limit)
}

// hasRoom looks whether there is free space enough to claim. Where nobody can tell,
// there is. A change is logged once; nobody needs to do anything about the end of it.
func (s *Supervisor) hasRoom() bool {
	limit, free, err := s.settings().MinFree, int64(0), error(nil)
	needs := s.opt.Queue.NeedsFree()
	reserve := needs > limit
	limit = max(limit, needs)
	if limit > 0 {
		free, err = s.opt.Queue.Free()
	}
	if err != nil {
		s.log.Debug("free space not known", "error", err)
	}
	low := err == nil && free < limit
	s.mu.Lock()
	before := s.disk
	s.disk = nil
	if low {
		s.disk = &DiskStatus{Since: s.opt.Clock.Now(), Free: free, Limit: limit, Reserve: reserve, Database: s.databaseSize()}
		if before != nil {
			s.disk.Since = before.Since
		}
	}
	now := s.disk
	s.mu.Unlock()
	switch {
	case low && before == nil:
		s.log.Warn("too little free space: no new jobs are started, those that run go on; it goes on by itself",
			"database", s.opt.Database, "free", inBytes(free), "why", now.why(), "running", s.crew.runs.count(),
			"database_size", inBytes(now.Database))
	case !low && before != nil:
		s.log.Info("enough free space again: jobs are started", "free", inBytes(free))
	}
	if low || before != nil {
		s.crew.touched()
	}
	return !low
}

// roomError is ErrNoRoom where nothing is claimed for want of space, else nil.
func (s *Supervisor) roomError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.disk == nil {
		return nil
	}
	return fmt.Errorf("%w: %s free, %s", ErrNoRoom, inBytes(s.disk.Free), s.disk.why())
}

// databaseSize is the size of the database and its write-ahead log, as far as they
// can be seen. They are looked at by name alone: no descriptor is opened on them.
func (s *Supervisor) databaseSize() (bytes int64) {
	for _, path := range []string{s.opt.Database, s.opt.Database + "-wal"} {
		if info, err := os.Stat(path); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// waits reports whether the agenda has jobs for one of the pools.
func waits(pools []*pool, agenda queue.Agenda) bool {
	for _, p := range pools {
		if agenda.Ready[p.handler.Kind] > 0 {
			return true
		}
	}
	return false
}

// inBytes is a size for people.
func inBytes(n int64) string {
	size, unit := float64(n), 0
	for ; size >= 1024 && unit < 4; unit++ {
		size /= 1024
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[unit-1])
}
