package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/b1213022/bailiff/queue/sqlite"
	"github.com/b1213022/bailiff/supervisor"
)

// A service cannot write its report on a full disk, so the space is looked at anew
// for each status.

// reportTooOld is the age from which a service's report says nothing about now: it
// is written anew every few seconds, also while nothing happens (statusRest).
const reportTooOld = 30 * time.Second

// spaceJSON is the space of the queue's file system as status --json shows it.
type spaceJSON struct {
	Free         *int64 `json:"free"` // bytes; null where the system does not tell
	ReserveGiven bool   `json:"reserve_given_up"`

	needed int64 // bytes that must be free for more than what running jobs record
}

func newSpaceJSON(q *sqlite.Queue) spaceJSON {
	needed := q.NeedsFree()
	s := spaceJSON{ReserveGiven: needed > 0, needed: needed}
	if free, err := q.Free(); err == nil {
		s.Free = &free
	}
	return s
}

// correctDisk makes what a service says of the space what is so now.
func (a *app) correctDisk(s *supervisor.Status, space spaceJSON) {
	cfg := a.mayConfig()
	if cfg == nil || space.Free == nil {
		return
	}
	if *space.Free >= cfg.MinFree && !space.ReserveGiven {
		s.Disk = nil
	}
	if *space.Free >= cfg.MinFree {
		return
	}
	disk := supervisor.DiskStatus{Since: now()}
	if s.Disk != nil {
		disk = *s.Disk
	}
	disk.Free, disk.Limit = *space.Free, cfg.MinFree
	disk.Database = fileSize(s.Database) + fileSize(s.Database+"-wal")
	s.Disk = &disk
}

// tellSpace says that a queue writes nothing but what running jobs record.
func (a *app) tellSpace(q *sqlite.Queue, space spaceJSON) {
	if !space.ReserveGiven {
		return
	}
	if space.Free != nil && *space.Free >= space.needed {
		a.say("the disk was full, and has room again: everything is written as soon as the next write has filled the reserve")
		return
	}
	free := ""
	if space.Free != nil {
		free = fmt.Sprintf(" (%s free now)", size(*space.Free))
	}
	a.say("THE DISK IS FULL%s: the reserve is given up, only what running jobs record is still written. Make room in %s; it goes on by itself",
		free, escape(filepath.Dir(q.Path())))
}

// tellOldReport says that what a service says of itself is not of now.
func (a *app) tellOldReport(s *serviceStatus) {
	if s.Stage == stageStarting || now().Sub(s.At) < reportTooOld {
		return
	}
	a.say("the service's own report is of %s: it could not write a newer one; what it says here may be over", when(now(), s.At))
}

// fileSize is the size of a file as far as it can be seen. No descriptor is opened
// on it.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
