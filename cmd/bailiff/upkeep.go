package main

import (
	"fmt"
	"time"

	"github.com/b1213022/bailiff/supervisor/config"
	"github.com/b1213022/bailiff/supervisor/upkeep"
)

// upkeepSettings is what a configuration says about forgetting and snapshots.
func upkeepSettings(cfg *config.Config) upkeep.Settings {
	s := upkeep.Settings{Retention: cfg.Retention}
	if b := cfg.Backup; b != nil {
		s.Backup = &upkeep.Backup{Every: b.Every, Folder: b.Folder, Make: b.Make, Keep: b.Keep}
	}
	return s
}

// upkeepLines says how upkeep stands, in a sentence each; what must be looked at
// is said loudly.
func upkeepLines(st *upkeep.Status, now time.Time) (lines []string) {
	if st == nil {
		return nil
	}
	if b := st.Backup; b != nil {
		lines = append(lines, backupLine(b, now))
	}
	if st.Prune.Error != "" {
		lines = append(lines, "finished jobs are not forgotten for now: "+escape(st.Prune.Error))
	}
	return lines
}

func backupLine(b *upkeep.BackupStatus, now time.Time) string {
	last := "no backup yet"
	if !b.LastAt.IsZero() {
		last = fmt.Sprintf("last backup %s, %s", relative(now, b.LastAt), size(b.LastBytes))
	}
	next := ", next " + relative(now, b.NextAt)
	if over := now.Sub(b.NextAt); over >= time.Second {
		next = ", due since " + span(over)
	}
	if !b.RunningSince.IsZero() {
		next = ", one is being made since " + span(now.Sub(b.RunningSince))
	}
	switch {
	case b.Error != "":
		return fmt.Sprintf("NO BACKUP: tried %s in vain: %s\n  %s%s; folder %s",
			times(b.Failures), escapeLines(b.Error), last, next, escape(b.Folder))
	case b.Late(now):
		return fmt.Sprintf("BACKUP TOO OLD: %s, but one is to be made every %s%s; folder %s", last, span(b.Every()), next, escape(b.Folder))
	default:
		return last + next
	}
}
