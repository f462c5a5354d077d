package sqlite

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

var draftName = regexp.MustCompile(`^\.(.+)\.(?:` + forBackup + `|` + forRestore + `)-[0-9a-f]{8}$`)

// stray is a draft in a folder, which somebody writes or has left.
type stray struct {
	path string
	of   string // the name it was to have, in the same folder
}

func strays(folder string) ([]stray, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var list []stray
	for _, e := range entries {
		if m := draftName.FindStringSubmatch(e.Name()); m != nil && e.Type().IsRegular() {
			list = append(list, stray{path: filepath.Join(folder, e.Name()), of: filepath.Join(folder, m[1])})
		}
	}
	return list, nil
}

// sameFile reports whether two names lead to one file.
func sameFile(a, b string) bool {
	x, err := os.Lstat(a)
	if err != nil {
		return false
	}
	y, err := os.Lstat(b)
	return err == nil && os.SameFile(x, y)
}

// removeStrays removes the drafts in a folder that nobody writes any more. What
// cannot be removed stays: doctor names it.
func removeStrays(folder string) {
	// A draft that is just being put in place must not become a queue of this
	// process while it is open here: closing it would drop that queue's locks.
	opened.mu.Lock()
	defer opened.mu.Unlock()
	list, err := strays(folder)
	if err != nil {
		return
	}
	for _, s := range list {
		s.remove()
	}
}

func (s *stray) remove() {
	if sameFile(s.path, s.of) {
		_ = os.Remove(s.path) // a second name of what is in place
		return
	}
	f := s.hold()
	if f == nil {
		return
	}
	defer func() { _ = f.Close() }()
	if !likeDraft(f) {
		return
	}
	for _, side := range sideFiles {
		_ = os.Remove(s.path + side)
	}
	_ = os.Remove(s.path)
}

// hold opens a draft that nobody writes any more, and is the one to hold it until it
// is closed. It answers nil where somebody may write it yet. The caller has opened.mu.
func (s *stray) hold() *os.File {
	if _, links, err := linksOf(s.path); err != nil || links != 1 {
		return nil // another name of something that is not to be opened here
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil
	}
	if draftHeld(f) || !(&draft{temp: s.path, file: f}).named() {
		_ = f.Close()
		return nil
	}
	return f
}

// likeDraft reports whether a file begins as a draft does: with nothing, with zeros,
// since SQLite may write the first page after others, or as a database. Another one is
// somebody else's, whatever its name.
func likeDraft(f *os.File) bool {
	begin := make([]byte, len(headerMagic))
	n, err := f.ReadAt(begin, 0)
	zeros := make([]byte, len(begin))
	return n == 0 && errors.Is(err, io.EOF) || n == len(begin) && (string(begin) == headerMagic || bytes.Equal(begin, zeros))
}

// size is how many bytes a draft takes with what is beside it.
func (s *stray) size() (n int64) {
	for _, side := range append([]string{""}, sideFiles...) {
		if info, err := os.Lstat(s.path + side); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n
}

// left reports whether nobody writes a draft any more, as far as can be told, and
// whether removeStrays removes it. One that cannot be opened is taken for written.
func (s *stray) left() (left, goes bool) {
	opened.mu.Lock()
	defer opened.mu.Unlock()
	if sameFile(s.path, s.of) {
		return true, true
	}
	f := s.hold()
	if f == nil {
		return false, false
	}
	defer func() { _ = f.Close() }()
	return true, likeDraft(f)
}
