package upkeep

import "time"

// Status is what upkeep has done and what comes next: plain data for people and
// for status files.
type Status struct {
	Prune  PruneStatus   `json:"prune"`
	Backup *BackupStatus `json:"backup"` // null: no snapshots are made by the clock
}

// PruneStatus is how finished jobs are forgotten.
type PruneStatus struct {
	LastAt time.Time `json:"last_at,omitzero"` // when it was last looked for them, without an error
	Jobs   int64     `json:"jobs"`             // forgotten since the start
	Freed  int64     `json:"freed"`            // bytes given back since the start
	Error  string    `json:"error,omitzero"`   // why it does not work just now
}

// BackupStatus is how snapshots are made by the clock.
type BackupStatus struct {
	EverySeconds float64   `json:"every_seconds"`
	Folder       string    `json:"folder"`
	LastAt       time.Time `json:"last_at,omitzero"` // of the newest snapshot there is
	LastPath     string    `json:"last_path,omitzero"`
	LastBytes    int64     `json:"last_bytes,omitzero"`
	LastSeconds  float64   `json:"last_seconds,omitzero"`  // that it took; not known of those of an earlier run
	RunningSince time.Time `json:"running_since,omitzero"` // of the one that is being made
	Error        string    `json:"error,omitzero"`         // why the last try made none
	Failures     int       `json:"failures,omitzero"`      // in a row
	NextAt       time.Time `json:"next_at,omitzero"`
}

// Status tells what stands now.
func (u *Upkeep) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	st := u.status
	if st.Backup != nil {
		backup := *st.Backup
		st.Backup = &backup
	}
	return st
}

// Late reports whether somebody must look after the snapshots at now: the last
// try failed, or the newest one is older than two intervals.
func (b *BackupStatus) Late(now time.Time) bool {
	return b.Error != "" || !b.LastAt.IsZero() && now.Sub(b.LastAt) > 2*b.Every()
}

// Every is the time from one snapshot to the next.
func (b *BackupStatus) Every() time.Duration {
	return time.Duration(b.EverySeconds * float64(time.Second))
}

// note changes the status and tells of it.
func (u *Upkeep) note(change func(*Status)) {
	u.mu.Lock()
	change(&u.status)
	u.mu.Unlock()
	u.opt.OnStatus()
}
