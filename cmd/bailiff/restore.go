package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newRestoreCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restore SNAPSHOT NEW",
		Short: "make a queue of a snapshot, in a new file",
		Long: `Makes the database NEW of a snapshot that backup made. NEW must not exist, nor
anything beside it that would be taken for its own (exit 3): nothing is ever
replaced, and the snapshot stays as it is. Jobs that were not finished in it are
quarantined, since what became of them afterwards is not known; old tokens are
void; keys stay taken. Nothing runs until you say so.`,
		Example: `  bailiff restore /backup/bailiff-2026-11-30.db new.db
  bailiff restore snapshot.db /var/lib/bailiff/new.db --json`,
		Args: words(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.dbFlag != "" {
				return advise(usage("restore names both of its files: --db does not go with it"), "bailiff restore SNAPSHOT NEW")
			}
			a.ownFiles = true
			return a.restore(cmd.Context(), args[0], args[1])
		},
	}
}

func (a *app) restore(ctx context.Context, snapshot, path string) error {
	bar, copied := a.copyProgress("restore")
	receipt, err := sqlite.Restore(ctx, snapshot, path, a.placed(a.forCommand()), copied)
	_ = bar.Finish()
	if errors.Is(err, sqlite.ErrUnsealed) {
		word := escape(shellword.Quote(snapshot))
		return advise(err, "if nobody had it open when it was copied: bailiff --db %s backup SNAPSHOT, then bailiff restore SNAPSHOT %s", word, escape(shellword.Quote(path)))
	}
	if err != nil {
		return adviseTarget(err, path)
	}
	if a.json {
		return a.printJSON(newRestoredJSON(receipt))
	}
	a.say("%s is a queue made of %s", escape(receipt.Path), escape(receipt.Snapshot))
	taken := "when it was made is not known"
	if !receipt.TakenAt.IsZero() {
		taken = "taken " + when(now(), receipt.TakenAt)
	}
	a.say("  %s; restored in %s; SHA-256 of the snapshot %s", taken, span(receipt.Took), receipt.SHA256)
	a.say("  jobs: %s", countWords(receipt.Jobs))
	a.say("  new jobs begin with #%d and fences above %d; tokens of before are void", receipt.NextID, receipt.FenceFloor)
	if receipt.Quarantined > 0 {
		a.say("%s not finished in the snapshot: quarantined, none runs by itself", was(receipt.Quarantined))
		a.say("  1. look whether their work happened since: %s", a.commandOn(receipt.Path, "dead"))
		a.say("  2. it happened: %s", a.commandOn(receipt.Path, "close ID --as done"))
		a.say("     it did not: %s", a.commandOn(receipt.Path, "requeue --state quarantined --reviewed --dry-run"))
		a.say("     (--kind, --key and --older-than choose; without --dry-run it is done)")
		if before := receipt.Jobs.Quarantined - receipt.Quarantined; before > 0 {
			a.say("     %s quarantined in the snapshot already: that command takes them too", was(before))
		}
		if before := receipt.Jobs.Quarantined - receipt.Quarantined; before > 0 {
			a.say("     %s quarantined in the snapshot already: both commands are about those, too", was(before))
		}
	}
	a.say("To work with it from now on:")
	a.say("  1. stop the service")
	a.say("  2. set database = %q in %s", receipt.Path, cmp.Or(escape(a.configPath), "the configuration"))
	if os.Getenv("BAILIFF_DB") != "" {
		a.say("     and unset BAILIFF_DB, which goes before it")
	}
	a.say("     (keep the old database, with all that is beside it, until you are sure)")
	a.say("  3. %s && %s", a.commandOn("", "check"), a.commandOn("", "run"))
	return nil
}

// was is "1 job was", "2 jobs were".
func was(jobs int64) string {
	if jobs == 1 {
		return "1 job was"
	}
	return plural(jobs, "job") + " were"
}

// restoredJSON is the receipt of a restore.
type restoredJSON struct {
	Path        string     `json:"path"`
	Snapshot    string     `json:"snapshot"`
	SHA256      string     `json:"sha256"` // of the snapshot
	TakenAt     *time.Time `json:"taken_at"`
	Seconds     float64    `json:"seconds"`
	Jobs        countsJSON `json:"jobs"`
	Quarantined int64      `json:"quarantined"` // of them, those that were not finished
	FenceFloor  int64      `json:"fence_floor"`
	NextID      int64      `json:"next_id"`
}

func newRestoredJSON(r queue.Restored) restoredJSON {
	return restoredJSON{
		Path: r.Path, Snapshot: r.Snapshot, SHA256: r.SHA256, TakenAt: moment(r.TakenAt), Seconds: r.Took.Seconds(),
		Jobs: countsJSON(r.Jobs), Quarantined: r.Quarantined, FenceFloor: r.FenceFloor, NextID: r.NextID,
	}
}
