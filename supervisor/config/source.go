package config

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// source is something a configuration was made from, and what was seen there.
type source struct {
	looked
	seen string
}

// looked is a path and how one looks at it.
type looked struct {
	path  string
	sight sight
}

// sight is how one looks at a path: the same text means that nothing which
// matters has changed.
type sight int

const (
	content    sight = iota // the bytes of a text that is read: a configuration, a sidecar, what file() names
	listing                 // which files a folder holds, of which type and mode, not what is in them
	version                 // whether a program was replaced or edited, without reading it
	permission              // who may write it
)

func (s sight) of(path string) string {
	switch s {
	case content:
		return contentOf(path)
	case listing:
		return listingOf(path)
	case permission:
		return permissionOf(path)
	default:
		return versionOf(path)
	}
}

// see looks before the loader reads, so that whatever changes in between will
// be noticed as a change.
func (c *Config) see(path string, how sight) string {
	for _, s := range c.sources {
		if s.looked == (looked{path, how}) {
			return s.seen
		}
	}
	seen := how.of(path)
	c.sources = append(c.sources, source{looked{path, how}, seen})
	return seen
}

func contentOf(path string) string {
	text, err := readRegular(path, maxFile)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

func listingOf(path string) string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return "error: " + withoutPath(err).Error()
	}
	var b strings.Builder
	for _, entry := range entries {
		mode := "gone"
		if info, err := os.Stat(filepath.Join(path, entry.Name())); err == nil {
			mode = info.Mode().String()
		}
		fmt.Fprintf(&b, "%s %q\n", mode, entry.Name())
	}
	return b.String()
}

func versionOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "error: " + withoutPath(err).Error()
	}
	return fmt.Sprintf("%s, %d bytes, %d", identity(path), info.Size(), info.ModTime().UnixNano())
}

func permissionOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "error: " + withoutPath(err).Error()
	}
	return info.Mode().String()
}

// identity tells one file or folder from another that has its name.
func identity(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("device %d, inode %d", stat.Dev, stat.Ino)
}
