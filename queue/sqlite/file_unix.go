//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileID tells files apart, whatever their names.
type fileID struct{ dev, ino uint64 }

func identity(info fs.FileInfo) fileID {
	st := info.Sys().(*syscall.Stat_t)
	return fileID{dev: uint64(st.Dev), ino: uint64(st.Ino)}
}

// mayWrite says in words which of the names cannot be written: SQLite needs the
// file and, for its side files, the folder, also for reading in WAL mode, and
// would speak of a file that is not there.
func mayWrite(names ...string) error {
	for _, name := range names {
		if err := unix.Access(name, unix.W_OK); err != nil {
			return fmt.Errorf("%s cannot be written: %w", name, err)
		}
	}
	return nil
}
