package sqlite

import (
	"cmp"

	"golang.org/x/sys/unix"
)

// freeIn is what a process without privileges can still write in a folder, in
// bytes.
func freeIn(folder string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * cmp.Or(int64(fs.Frsize), int64(fs.Bsize)), nil
}
