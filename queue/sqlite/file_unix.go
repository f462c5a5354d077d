//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"
)

// fileID tells files apart, whatever their names.
type fileID struct{ dev, ino uint64 }

func identity(info fs.FileInfo) fileID {
	st := info.Sys().(*syscall.Stat_t)
	return fileID{dev: uint64(st.Dev), ino: uint64(st.Ino)}
}
