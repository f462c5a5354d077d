package sqlite

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
)

// snapshotVersion is the first schema that can say of a file that it is a snapshot.
// What backup makes of an older one is a plain copy.
const snapshotVersion = 2

// refuseSnapshot refuses to open a snapshot as a queue; it would be one then.
func refuseSnapshot(path string) error {
	taken, _, err := takenAt(path)
	if err != nil || taken.IsZero() {
		return err
	}
	return isSnapshot(path, taken)
}

// takenAt is when a snapshot was taken, and whether it carries a seal; nothing for a
// queue, and as far as it cannot be read: whoever opens that finds out why. It reads
// the file alone: what stands in a log beside it is no snapshot's.
func takenAt(path string) (taken time.Time, sealed bool, err error) {
	c, err := openConn(dsn(path, immutable))
	if err != nil {
		return taken, false, nil
	}
	seals, _ := c.number(context.Background(), countSeals)
	_, _ = c.one(context.Background(), `SELECT snapshot_at FROM queue`, nil, func(r row) error {
		taken = atMS(r, 0)
		return nil
	})
	return taken, seals > 0, c.close()
}

// isSnapshot refuses a snapshot where a queue is wanted.
func isSnapshot(path string, taken time.Time) error {
	return refuse("it is %s", ofSnapshot(path, taken))
}

// ofSnapshot says what a snapshot is and what it is good for.
func ofSnapshot(path string, taken time.Time) string {
	return fmt.Sprintf("a snapshot of %s: bailiff restore %s NEW makes a queue of it", taken.Format(time.RFC3339), shellword.Quote(path))
}

// finish makes a snapshot of the copy in d and checks it.
func finish(ctx context.Context, d *draft, b *queue.Backup) error {
	c, err := openConn(dsn(d.temp, private))
	if err != nil {
		return err
	}
	at, err := markSnapshot(ctx, c, d, b)
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if at > 0 {
		if err := closeSeal(ctx, d.file, at); err != nil {
			return err
		}
	}
	h := sha256.New()
	b.Bytes, err = io.Copy(h, withContext(ctx, io.NewSectionReader(d.file, 0, math.MaxInt64)))
	b.SHA256 = hex.EncodeToString(h.Sum(nil))
	return err
}

// markSnapshot writes into the copy that it is a snapshot, checks and counts it. It
// answers where in the file its seal goes; 0 for an older schema, which has none.
func markSnapshot(ctx context.Context, c *conn, d *draft, b *queue.Backup) (at int64, err error) {
	// The copy says of itself what the database says: that it has a write-ahead log.
	if err := withoutJournal(c); err != nil {
		return 0, err
	}
	if b.Schema, err = schemaVersion(c); err != nil {
		return 0, err
	}
	var mark []byte
	if b.Schema >= snapshotVersion {
		if _, err := c.exec(`UPDATE queue SET snapshot_at = ?`, b.TakenAt.UnixMilli()); err != nil {
			return 0, err
		}
		if mark, err = openSeal(c); err != nil {
			return 0, err
		}
	}
	if err := quickCheck(ctx, c, &b.QuickCheck); err != nil {
		return 0, err
	}
	if b.Jobs, err = countJobs(ctx, c); err != nil {
		return 0, err
	}
	if b.Pages, err = c.number(ctx, `PRAGMA page_count`); err != nil || mark == nil {
		return 0, err
	}
	return sealPlace(c, d.file, mark)
}

// quickCheck asks SQLite whether the file has its form, and gives its word.
func quickCheck(ctx context.Context, c *conn, word *string) error {
	return soundBy(ctx, c, `PRAGMA quick_check(1)`, word)
}

func soundBy(ctx context.Context, c *conn, pragma string, word *string) error {
	if _, err := c.one(ctx, pragma, nil, func(r row) error {
		*word = r.text(0)
		return nil
	}); err != nil {
		return err
	}
	if *word != "ok" {
		return damaged("%s", cmp.Or(*word, "no answer"))
	}
	return nil
}

// countJobs counts the jobs themselves, not what the table counts says.
func countJobs(ctx context.Context, c *conn) (n queue.Counts, err error) {
	fields := countFields(&n)
	err = c.each(ctx, `SELECT state, count(*) FROM jobs GROUP BY state`, nil, func(r row) error {
		field, known := fields[code(r.int(0))]
		if !known {
			return damaged("jobs in a state %d", r.int(0))
		}
		*field = r.int(1)
		return nil
	})
	return n, err
}
