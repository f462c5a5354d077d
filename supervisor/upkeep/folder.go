package upkeep

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The snapshots of a queue are told apart by their names alone:
// NAME-1a2b3c4d-20261130T020000Z.db, NAME being the database's, then the first digits
// of the queue's uid, since databases of one name may share a folder, then the time in
// UTC. What is not called so is nobody's business here.
const (
	uidDigits   = 8
	stampLayout = "20060102T150405Z"
	extension   = ".db"
)

// series is how the names of a queue's snapshots begin.
type series string

func seriesOf(database, uid string) series {
	return series(stem(database) + "-" + uid[:uidDigits] + "-")
}

// snapshot is one that is there.
type snapshot struct {
	path  string
	at    time.Time // that its name tells
	bytes int64
}

// nameAt is the name of the snapshot of that time.
func (s series) nameAt(at time.Time) string {
	return string(s) + at.UTC().Format(stampLayout) + extension
}

// timeOf is the time that a name tells; false if it is no name of a snapshot of
// the series.
func (s series) timeOf(name string) (time.Time, bool) {
	stamp, ok := strings.CutPrefix(strings.TrimSuffix(name, extension), string(s))
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(stampLayout, stamp)
	return at, err == nil && s.nameAt(at) == name
}

// stem is a database's name without its extension.
func stem(database string) string {
	name := filepath.Base(database)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// in lists the snapshots of the series in a folder that are whole, the oldest first. A
// folder that is missing has none.
func (s series) in(folder string) ([]snapshot, error) {
	entries, err := entriesOf(folder)
	if err != nil {
		return nil, err
	}
	var found []snapshot
	for _, entry := range entries {
		at, ok := s.timeOf(entry.Name())
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		if bytes, ok := whole(path); ok {
			found = append(found, snapshot{path, at, bytes})
		}
	}
	slices.SortFunc(found, func(a, b snapshot) int { return cmp.Or(a.at.Compare(b.at), strings.Compare(a.path, b.path)) })
	return found, nil
}

func entriesOf(folder string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for snapshots: %w", err)
	}
	return entries, nil
}

// Newest is the path of the newest snapshot in a folder that is whole, of a database
// that cannot be asked for its uid. It is empty if there is none, and where more than
// one queue has snapshots there under the database's name.
func Newest(folder, database string) string {
	entries, err := entriesOf(folder)
	if err != nil {
		return ""
	}
	of := map[series]bool{}
	for _, entry := range entries {
		uid, ok := strings.CutPrefix(entry.Name(), stem(database)+"-")
		if !ok || len(uid) < uidDigits {
			continue
		}
		s := seriesOf(database, uid)
		if _, is := s.timeOf(entry.Name()); is {
			of[s] = true
		}
	}
	if len(of) != 1 {
		return ""
	}
	for s := range of {
		if list, err := s.in(folder); err == nil && len(list) > 0 {
			return list[len(list)-1].path
		}
	}
	return ""
}

// whole reports whether a file is an SQLite database of the length that its header
// tells (https://www.sqlite.org/fileformat.html#the_database_header). A snapshot
// was verified before it got its name: this finds one that was cut off later, as
// when it was copied to another disk and back.
func whole(path string) (bytes int64, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	header := make([]byte, 32)
	info, err := f.Stat()
	if _, reading := io.ReadFull(f, header); err != nil || reading != nil || string(header[:16]) != "SQLite format 3\x00" {
		return 0, false
	}
	pageSize := int64(binary.BigEndian.Uint16(header[16:]))
	if pageSize == 1 {
		pageSize = 65536
	}
	return info.Size(), pageSize*int64(binary.BigEndian.Uint32(header[28:])) == info.Size()
}

// make makes the plan's folder where that is meant. One whose disk is not mounted must
// not come to be on another.
func (b *Backup) make() error {
	if !b.Make {
		_, err := os.Stat(b.Folder)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no folder %s: mount its disk, or make it with mkdir -p", b.Folder)
		}
		return err
	}
	switch err := os.Mkdir(b.Folder, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("make the folder for snapshots: %w", err)
	}
	if err := syncFolder(filepath.Dir(b.Folder)); err != nil {
		return fmt.Errorf("the folder for snapshots was made, but the disk did not confirm it: %w", err)
	}
	return nil
}

// syncFolder brings the names in a folder to the disk.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeOld removes all snapshots but fresh and the newest others, keep in all. It
// answers how many are gone.
func (s series) removeOld(folder, fresh string, keep int) (removed int, err error) {
	list, err := s.in(folder)
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(old snapshot) bool { return old.path == fresh })
	for _, old := range list[:max(0, len(list)-(keep-1))] {
		if failed := os.Remove(old.path); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed++
	}
	return removed, err
}
