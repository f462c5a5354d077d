package queue

import "time"

// Backup is the receipt of a snapshot that was made and verified.
type Backup struct {
	Path       string        // absolute
	TakenAt    time.Time     // everything acknowledged before is in it
	Took       time.Duration // until it was verified and on the disk
	Bytes      int64
	Pages      int64
	SHA256     string // of the file, hex
	QuickCheck string // SQLite's word: "ok"
	Schema     int    // version
	Jobs       Counts // in the snapshot, counted there; a scheduled job that is due counts as scheduled
}

// Restored is the receipt of a snapshot that was made into a queue.
type Restored struct {
	Path        string    // of the new database, absolute
	Snapshot    string    // absolute
	SHA256      string    // of the snapshot, hex
	TakenAt     time.Time // of the snapshot
	Took        time.Duration
	Jobs        Counts // in the new database
	Quarantined int64  // jobs that were not finished in the snapshot
	FenceFloor  int64  // fences of new jobs start above it
	NextID      int64  // ids of new jobs start with it
}
