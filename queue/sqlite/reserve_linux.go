package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate gives a file so many bytes of the disk. Where the file system has no way
// to, or only says so, they are written.
func allocate(f *os.File, size int64) error {
	fd := int(f.Fd())
	err := unix.Fallocate(fd, 0, 0, size)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(fd, 0, 0, size)
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return writeOver(f, size)
	}
	var st unix.Stat_t
	if err == nil && unix.Fstat(fd, &st) == nil && st.Blocks*512 < size {
		return writeOver(f, size)
	}
	return err
}
