//go:build unix && !linux

package sqlite

import "os"

// allocate gives a file so many bytes of the disk.
func allocate(f *os.File, size int64) error { return writeOver(f, size) }
