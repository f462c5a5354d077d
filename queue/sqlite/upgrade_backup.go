package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/b1213022/bailiff/queue"
)

// How the backup of an older schema is called until the new one stands, and then.
const (
	unfinished = ".unfinished"
	finished   = ".backup"
)

// unfinishedName is how such a name goes on after the database's.
var unfinishedName = regexp.MustCompile(`^\.v[0-9]+-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z\` + unfinished + `$`)

// saveBefore makes the backup from which an older program could go on. Then it removes
// those of tries that did not come to an end: all that is in them is in the database,
// which nobody else can write now, and so in the new one.
func (q *Queue) saveBefore(ctx context.Context, version int) (path string, err error) {
	older, err := q.unfinished()
	if err != nil {
		return "", err
	}
	path = q.freeName(version) + unfinished
	c, err := openReader(ctx, q.path)
	if err != nil {
		return "", err
	}
	if _, err = backup(ctx, c, path, q.clock.Now, nil); err != nil {
		if errors.Is(err, queue.ErrFull) && len(older) > 0 {
			err = fmt.Errorf("%w; an earlier try has left %s", err, strings.Join(older, ", "))
		}
		return "", errors.Join(err, c.close())
	}
	for _, name := range older {
		if err := os.Remove(name); err != nil {
			q.logger.Warn("a backup that an earlier try has left is not removed", "error", err)
		}
	}
	return path, c.close()
}

// freeName is how the names of a backup begin that is made now; where a clock was set
// back and one has such a name, a little later.
func (q *Queue) freeName(version int) string {
	for at := q.clock.Now().UTC(); ; at = at.Add(time.Millisecond) {
		name := fmt.Sprintf("%s.v%d-%s", q.path, version, at.Format("20060102T150405.000Z"))
		_, first := os.Lstat(name + unfinished)
		if _, then := os.Lstat(name + finished); first != nil && then != nil {
			return name
		}
	}
}

// unfinished are the backups of tries that did not come to an end, or of one that is
// just at its end.
func (q *Queue) unfinished() (list []string, err error) {
	folder, name := filepath.Split(q.path)
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), name)
		if ours && e.Type().IsRegular() && unfinishedName.MatchString(rest) {
			list = append(list, filepath.Join(folder, e.Name()))
		}
	}
	return list, err
}

// keepBackups names those that were made before the schema that stands now, by a try
// that was killed at its end. What cannot be named stays as it is.
func (q *Queue) keepBackups() {
	list, err := q.unfinished()
	if err != nil {
		q.logger.Warn("not looked for a backup of the older schema", "database", q.path, "error", err)
	}
	for _, from := range list {
		q.keepBackup(from)
	}
}

// keepBackup gives a backup its name, and answers how it is called then.
func (q *Queue) keepBackup(from string) string {
	to := strings.TrimSuffix(from, unfinished) + finished
	switch err := rename(from, to); {
	case errors.Is(err, fs.ErrNotExist): // another start was faster
		return to
	case err != nil:
		q.logger.Warn("the backup of the older schema is there, but not under its name", "is", from, "name", to, "error", err)
		return from
	}
	if err := syncFolder(filepath.Dir(to)); err != nil {
		q.logger.Warn("the disk did not confirm the name of the backup of the older schema", "name", to, "error", err)
	}
	return to
}
