package sqlite

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/b1213022/bailiff/internal/shellword"
)

// SQLite names the write-ahead log and the shared memory after the database. A
// file that two names lead to has two logs, and half of what is written vanishes
// without an error (https://www.sqlite.org/howtocorrupt.html, "Multiple links to
// the same file"). A symbolic link does no harm, it is resolved first; a second
// hard link does, and so does a single file that is mounted somewhere else. On a
// network file system neither the locks nor the shared memory reach the other
// machines.

// checkPlace refuses a database that lies where it cannot be kept safe; the error
// wraps queue.ErrNotOurs. Its symbolic links are resolved already. It only looks.
// left are second names that a backup or a restore of ours left when it was
// interrupted: opening the database removes them.
func checkPlace(path string, opt Options) (left []string, err error) {
	if left, err = checkLinks(path); err != nil {
		return nil, err
	}
	if err := checkMounts(path); err != nil {
		return nil, err
	}
	return left, checkFileSystem(filepath.Dir(path), opt.NetworkFS)
}

// takePlace is checkPlace before a database is opened.
func takePlace(path string, opt Options) error {
	left, err := checkPlace(path, opt)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		opt.Logger.Warn("removed a second name of the database, which a backup or a restore had left", "database", path, "name", name)
	}
	return nil
}

// checkLinks refuses a file with several hard links, but for those that left names.
func checkLinks(path string) (left []string, err error) {
	id, links, err := linksOf(path)
	if err != nil || links < 2 {
		return nil, err
	}
	if left, err = leftNames(path); err != nil {
		return nil, err
	}
	if names := links - len(left); names > 1 {
		return nil, refuse("it has %d names (hard links): SQLite would keep a log of its own for each, and what is written under one name would be lost under the others. "+
			"find %s -xdev -samefile %s shows them; remove all but one", names, shellword.Quote(topOf(path, id)), shellword.Quote(path))
	}
	return left, nil
}

// leftNames are the names of the same file that an interrupted backup or restore
// left beside it.
func leftNames(path string) (names []string, err error) {
	all, err := strays(filepath.Dir(path))
	for _, s := range all {
		if s.of == path && sameFile(s.path, path) {
			names = append(names, s.path)
		}
	}
	return names, err
}

// topOf is the highest folder above a file that is on the same file system.
func topOf(path string, id fileID) string {
	top := filepath.Dir(path)
	for {
		up := filepath.Dir(top)
		if of, err := fileAt(up); up == top || err != nil || of.dev != id.dev {
			return top
		}
		top = up
	}
}
