//go:build darwin || dragonfly || freebsd

package sqlite

import "golang.org/x/sys/unix"

// freeIn is what a process without privileges can still write in a folder, in
// bytes.
func freeIn(folder string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, err
	}
	return max(int64(fs.Bavail), 0) * int64(fs.Bsize), nil
}
