package sqlite

import (
	"fmt"
	"path/filepath"
)

// NeedsFree answers how many bytes must be free before a claim, or anything else but
// what running jobs record, is written: 0, but while the reserve is given up.
func (q *Queue) NeedsFree() int64 {
	r := reserve{path: q.path}
	if r.look() != reserveGiven {
		return 0
	}
	return reserveRoom
}

// Free answers how many bytes of the database's file system a process without
// privileges can still write. Where the system does not tell, it is an error.
func (q *Queue) Free() (int64, error) {
	free, err := freeIn(filepath.Dir(q.path))
	if err != nil {
		return 0, fmt.Errorf("free space beside %s: %w", q.path, err)
	}
	return free, nil
}
