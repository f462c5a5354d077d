package upkeep

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// How snapshots are waited for.
const (
	saveLook  = time.Minute // the longest sleep: the wall clock can be set, and a machine suspended
	saveRetry = time.Minute // after the first failure in a row; then twice as long each time, up to the interval
)

// saver makes snapshots by the clock.
type saver struct {
	*Upkeep
	due      time.Time // zero: to be read from the folder
	failures int       // in a row
}

// save makes snapshots until ctx ends or the queue is closed.
func (u *Upkeep) save(ctx context.Context) {
	s := &saver{Upkeep: u}
	for {
		wait, err := s.round(ctx)
		if errors.Is(err, queue.ErrClosed) {
			return
		}
		again, fresh := u.sleep(ctx, min(wait, saveLook), u.saved)
		if !again {
			return
		}
		if fresh {
			s.due, s.failures = time.Time{}, 0
		}
	}
}

// round makes a snapshot if one is due, and answers for how long there is nothing
// to do then, and the error if it could not be made.
func (s *saver) round(ctx context.Context) (wait time.Duration, err error) {
	plan := s.inUse().Backup
	if plan == nil {
		s.note(func(st *Status) { st.Backup = nil })
		return saveLook, nil
	}
	now := s.opt.Clock.Now()
	// A clock that was set back leaves a due time that means nothing.
	if left := s.due.Sub(now); 0 < left && left <= plan.Every {
		return left, nil
	}
	if err = s.look(plan, now); err == nil && !now.Before(s.due) {
		err = s.make(ctx, plan, now)
		if errors.Is(err, queue.ErrConflict) && s.madeByAnother(plan) {
			err = nil
		}
	}
	if err != nil && ctx.Err() == nil {
		s.failed(plan, err)
	}
	return s.due.Sub(s.opt.Clock.Now()), err
}

// look reads from the folder when the next snapshot is due: somebody else may have
// made one. One of a time that is still to come says nothing about when the last
// one was made.
func (s *saver) look(plan *Backup, now time.Time) error {
	list, err := s.series.in(plan.Folder)
	if err != nil {
		return err
	}
	for len(list) > 0 && list[len(list)-1].at.After(now) {
		list = list[:len(list)-1]
	}
	s.due = now
	var last snapshot
	if len(list) > 0 {
		last = list[len(list)-1]
		s.due = last.at.Add(plan.Every)
	}
	if now.Before(s.due) {
		s.failures = 0
	}
	s.noteBackup(plan, func(b *BackupStatus) {
		if b.LastPath != last.path {
			b.LastAt, b.LastPath, b.LastBytes, b.LastSeconds = last.at, last.path, last.bytes, 0
		}
		b.NextAt = s.due
		if s.failures == 0 {
			b.Error, b.Failures = "", 0
		}
	})
	return nil
}

// madeByAnother reports whether another service has made the snapshot that was due,
// whose name was in the way.
func (s *saver) madeByAnother(plan *Backup) bool {
	now := s.opt.Clock.Now()
	if err := s.look(plan, now); err != nil || !now.Before(s.due) {
		return false
	}
	s.log.Info("another service made the snapshot", "folder", plan.Folder, "next", s.due.Format(time.RFC3339))
	return true
}

// make makes one snapshot, and removes the oldest ones afterwards.
func (s *saver) make(ctx context.Context, plan *Backup, now time.Time) error {
	if err := plan.make(); err != nil {
		return err
	}
	path := filepath.Join(plan.Folder, s.series.nameAt(now))
	s.noteBackup(plan, func(b *BackupStatus) { b.RunningSince = now })
	receipt, err := s.opt.Queue.Backup(ctx, path, nil)
	if err != nil {
		s.noteBackup(plan, func(b *BackupStatus) { b.RunningSince = time.Time{} })
		return err
	}
	at, _ := s.series.timeOf(filepath.Base(path)) // as a later run will read it
	s.due, s.failures = at.Add(plan.Every), 0
	s.noteBackup(plan, func(b *BackupStatus) {
		*b = BackupStatus{LastAt: at, LastPath: path, LastBytes: receipt.Bytes, LastSeconds: receipt.Took.Seconds(), NextAt: s.due}
	})
	s.log.Info("snapshot made and verified", "path", path, "bytes", receipt.Bytes, "sha256", receipt.SHA256,
		"took", receipt.Took.Round(time.Millisecond), "next", s.due.Format(time.RFC3339))
	removed, err := s.series.removeOld(plan.Folder, path, plan.Keep)
	if removed > 0 {
		s.log.Info("older snapshots removed", "snapshots", removed, "kept", plan.Keep)
	}
	if err != nil {
		s.log.Warn("older snapshots not removed", "error", err)
	}
	return nil
}

// failed tells of a snapshot that could not be made. It is tried again a little
// later each time.
func (s *saver) failed(plan *Backup, err error) {
	s.failures++
	s.due = s.opt.Clock.Now().Add(backoff(s.failures, saveRetry, plan.Every))
	s.noteBackup(plan, func(b *BackupStatus) { b.Error, b.Failures, b.NextAt = err.Error(), s.failures, s.due })
	if errors.Is(err, queue.ErrClosed) {
		return // who works on the queue tells of that
	}
	s.log.Error("no snapshot could be made", "folder", plan.Folder, "tries", s.failures, "next", s.due.Format(time.RFC3339), "error", err)
}

// noteBackup changes what the status shows of the snapshots of a plan.
func (s *saver) noteBackup(plan *Backup, change func(*BackupStatus)) {
	s.note(func(st *Status) {
		if st.Backup == nil || st.Backup.Folder != plan.Folder {
			st.Backup = &BackupStatus{}
		}
		change(st.Backup)
		st.Backup.Folder, st.Backup.EverySeconds = plan.Folder, plan.Every.Seconds()
	})
}
