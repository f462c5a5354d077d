package config

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Whoever can write the configuration, a sidecar, a handler's file or the
// folder of the drop-ins decides what this service runs, with its rights. That
// anybody else can is an error for all four alike; on a file system that is
// mounted read-only nobody can, whatever the mode says: so come the folders of
// Kubernetes' ConfigMaps and Secrets, with 0777.

// checkWriters refuses a file that others than its owner can write. A group
// that has the owner's own number is the owner's private one, as many systems
// make it; root has none. What does not exist is for others to report.
func (l *loader) checkWriters(path string) {
	l.config.see(path, permission)
	info, err := os.Stat(path)
	if err != nil {
		return
	}
	writers := info.Mode().Perm() & 0o022
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && stat.Uid == stat.Gid {
		writers &^= 0o020
	}
	if writers != 0 && !readOnly(path) {
		l.fail(place{l.name(path), 0}, "others can write this file, and so decide what this service runs", "chmod go-w "+l.name(path))
	}
}

// checkFolder refuses a folder in which everybody can replace the handlers. In
// one with the sticky bit they can still add some, which is a warning.
func (l *loader) checkFolder(dir string) {
	l.config.see(dir, permission)
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o002 == 0 || readOnly(dir) {
		return
	}
	tell, what := l.fail, "everybody can put handlers into this folder and replace those in it"
	if info.Mode()&fs.ModeSticky != 0 {
		tell, what = l.warn, "everybody can put handlers into this folder"
	}
	tell(place{l.name(dir), 0}, what, "chmod o-w "+l.name(dir))
}

// readOnly reports whether path lies on a file system that is mounted
// read-only: access(2) answers EROFS then, to root too.
func readOnly(path string) bool {
	const writing = 2 // W_OK
	return errors.Is(syscall.Access(path, writing), syscall.EROFS)
}
