//go:build unix

package sqlite

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reserveFile answers the size of the file at name and whether it is a reserve.
func reserveFile(name string) (size int64, ours bool) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return 0, false
	}
	return st.Size, st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 && isReserve(st.Size)
}

// openReserve opens a reserve to change its size; flags may make it.
func openReserve(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|flags, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !isReserve(info.Size())) {
		err = fmt.Errorf("%s is no reserve", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// likeDatabase lets those who may write the database give its reserve up, as far as
// this process can.
func likeDatabase(f *os.File, path string) {
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	_ = f.Chmod(info.Mode().Perm())
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
