package sqlite

import (
	"errors"
	"time"
)

// A page that holds nothing any more stays in the file until it is given back: pages
// from the file's end are moved into the gaps and the end is cut off
// (https://www.sqlite.org/pragma.html#pragma_incremental_vacuum). The file itself gets
// shorter when the write-ahead log is copied.

const (
	sparePages  = 256                   // 1 MiB: so many free pages stay for what comes
	shrinkPages = 128                   // are given back by one commit at most
	shrinkTime  = 10 * time.Millisecond // no further page after that
)

// spare reports whether there are pages to give back.
func (v *view) spare() (bool, error) {
	free, err := v.number(`PRAGMA freelist_count`)
	return free > sparePages, err
}

// shrink gives pages back and answers how many bytes they were, and whether there
// are more.
func (t *transaction) shrink() (freed int64, more bool, err error) {
	free, err := t.number(`PRAGMA freelist_count`)
	if err != nil || free <= sparePages {
		return 0, false, err
	}
	before, err := t.number(`PRAGMA page_count`)
	if err != nil {
		return 0, false, err
	}
	began := time.Now()
	most := min(free-sparePages, shrinkPages)
	// A row for each page.
	err = t.each(`PRAGMA incremental_vacuum`, nil, func(row) error {
		if most--; most == 0 || time.Since(began) > shrinkTime {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return 0, false, err
	}
	after, err := t.number(`PRAGMA page_count`)
	if err != nil {
		return 0, false, err
	}
	t.writes++ // SQLite counts no row
	size, err := t.number(`PRAGMA page_size`)
	return (before - after) * size, free-(before-after) > sparePages, err
}
