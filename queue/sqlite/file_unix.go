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

func (id fileID) String() string {
	return fmt.Sprintf("inode %d of device %d:%d", id.ino, unix.Major(id.dev), unix.Minor(id.dev))
}

func identity(info fs.FileInfo) fileID {
	st := info.Sys().(*syscall.Stat_t)
	return fileID{dev: uint64(st.Dev), ino: uint64(st.Ino)}
}

// fileAt is the file that a name leads to.
func fileAt(name string) (fileID, error) {
	id, _, err := linksOf(name)
	return id, err
}

// linksOf is fileAt with the number of names that the file has.
func linksOf(name string) (id fileID, links int, err error) {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return fileID{}, 0, err
	}
	return fileID{dev: uint64(st.Dev), ino: uint64(st.Ino)}, int(st.Nlink), nil
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
