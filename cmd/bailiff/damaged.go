package main

import (
	"errors"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor/upkeep"
)

// newestSnapshot is the newest that the service made of a database; empty where none
// is known.
func (a *app) newestSnapshot(database string) string {
	cfg := a.mayConfig()
	if cfg == nil || cfg.Backup == nil || cfg.Database != database {
		return ""
	}
	return upkeep.Newest(cfg.Backup.Folder, database)
}

// damageRemedies are what to do about a database, or a snapshot, that is damaged.
func (a *app) damageRemedies(err error) []string {
	switch {
	case !errors.Is(err, queue.ErrDamaged):
		return nil
	case a.ownFiles:
		return []string{"it cannot be restored: take an older one"}
	}
	snapshot := "SNAPSHOT"
	if newest := a.newestSnapshot(a.dbPath); newest != "" {
		snapshot = escape(shellword.Quote(newest))
	}
	return []string{
		"stop what uses it, and keep the file and all that is beside it",
		a.command("doctor") + " shows the damage; bailiff restore " + snapshot + " NEW makes a queue of the newest snapshot",
	}
}
