package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/queue/sqlite"
)

func newBackupCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "make a verified snapshot of the live database",
		Long: `Makes a snapshot of the database while it is in use: one file that holds all that
was acknowledged before, checked, with a receipt. FILE must not exist (exit 3),
and appears whole or not at all. restore makes a queue of it; nothing else opens
it. Copying the database's own file while it is in use is no backup.`,
		Example: `  bailiff backup /backup/bailiff-2026-11-30.db
  bailiff backup snapshot.db --json`,
		Args: words(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "":
				return usage("which file? The name is empty")
			case "-":
				return advise(usage("a snapshot is a file: it is checked before it appears, which stdout cannot be"), "./- is a file of that name")
			}
			return a.withQueue(cmd.Context(), func(q *sqlite.Queue) error {
				return a.backup(cmd.Context(), q, args[0])
			})
		},
	}
}

func (a *app) backup(ctx context.Context, q *sqlite.Queue, path string) error {
	bar, copied := a.copyProgress("backup")
	receipt, err := q.Backup(ctx, path, copied)
	_ = bar.Finish()
	if err != nil {
		return adviseTarget(err, path)
	}
	if a.json {
		return a.printJSON(newBackupJSON(receipt))
	}
	a.say("%s is a snapshot of %s", escape(receipt.Path), escape(q.Path()))
	a.say("  %s in %s; all that was acknowledged before %s is in it", size(receipt.Bytes), span(receipt.Took), when(now(), receipt.TakenAt))
	a.say("  jobs: %s", countWords(receipt.Jobs))
	a.say("  quick_check %s, schema %d, SHA-256 %s", escape(receipt.QuickCheck), receipt.Schema, receipt.SHA256)
	a.say("  to make a queue of it: bailiff restore %s NEW", escape(shellword.Quote(receipt.Path)))
	return nil
}

// adviseTarget says what to do about a place in which no new file can be made.
func adviseTarget(err error, path string) error {
	switch {
	case errors.Is(err, queue.ErrConflict) || errors.Is(err, fs.ErrExist):
		return advise(err, "nothing was replaced: choose another name")
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	folder := filepath.Dir(path)
	if _, there := os.Stat(folder); there == nil {
		return err
	}
	return advise(err, "mkdir -p %s", escape(shellword.Quote(folder)))
}

// backupJSON is the receipt of a snapshot.
type backupJSON struct {
	Path       string     `json:"path"`
	TakenAt    *time.Time `json:"taken_at"`
	Seconds    float64    `json:"seconds"`
	Bytes      int64      `json:"bytes"`
	Pages      int64      `json:"pages"`
	SHA256     string     `json:"sha256"`
	QuickCheck string     `json:"quick_check"`
	Schema     int        `json:"schema"`
	Jobs       countsJSON `json:"jobs"`
}

func newBackupJSON(b queue.Backup) backupJSON {
	return backupJSON{
		Path: b.Path, TakenAt: moment(b.TakenAt), Seconds: b.Took.Seconds(),
		Bytes: b.Bytes, Pages: b.Pages, SHA256: b.SHA256, QuickCheck: b.QuickCheck, Schema: b.Schema,
		Jobs: countsJSON(b.Jobs),
	}
}
