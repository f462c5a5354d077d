package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/b1213022/bailiff/internal/shellword"
)

// largeLog is above what a queue lets its log grow to where nothing holds it.
const largeLog = 64 << 20

func (e *examiner) sideFiles() {
	var sizes []string
	for _, side := range sideFiles {
		info, err := os.Lstat(e.Path + side)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			e.failed("side files", err)
			return
		}
		sizes = append(sizes, fmt.Sprintf("%s %s", side, inBytes(info.Size())))
		switch {
		case !info.Mode().IsRegular():
			e.wrong("side files", "", "%s is no regular file", e.Path+side)
			return
		case side == "-journal" && info.Size() > 0:
			e.wrong("side files", "keep a copy of it and of the database before anything opens them",
				"%s is of a program that wrote to the database without its write-ahead log", e.Path+side)
			return
		case side == "-wal" && info.Size() > largeLog:
			e.wrong("side files", "end the program that reads for so long (fuser -v "+shellword.Quote(e.Path)+"); a queue that is open copies the log then",
				"the write-ahead log has %s: a reader holds it open, or nothing has copied it", inBytes(info.Size()))
			return
		}
	}
	if len(sizes) == 0 {
		e.fine("side files", "none: nobody has it open")
		return
	}
	e.fine("side files", "%s", strings.Join(sizes, ", "))
}

// drafts tells of what interrupted backups and restores left in the folder.
func (e *examiner) drafts() {
	list, err := strays(filepath.Dir(e.Path))
	if err != nil {
		e.failed("left-overs", err)
		return
	}
	var names []string
	var size int64
	hint := " (the next backup or restore here does so)"
	for _, s := range list {
		left, goes := s.left()
		if !left {
			continue
		}
		names = append(names, shellword.Quote(s.path))
		size += s.size()
		if !goes {
			hint = ""
		}
	}
	if len(names) == 0 {
		e.fine("left-overs", "none")
		return
	}
	e.wrong("left-overs", "rm "+strings.Join(names, " ")+hint,
		"%d files of backups or restores that did not end, %s", len(names), inBytes(size))
}

func (e *examiner) space() {
	folder := filepath.Dir(e.Path)
	free, err := freeIn(folder)
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	const advice = "make room there (df -h shows the disk): it goes on by itself"
	limit := inBytes(e.known.MinFree)
	switch {
	case err != nil:
		e.failed("free space", err)
	case free < e.known.MinFree:
		e.wrong("free space", advice, "%s in %s, below %s (min_free): no new jobs are started", inBytes(free), folder, limit)
	case e.known.MinFree > 0:
		e.fine("free space", "%s in %s, at least %s (min_free)", inBytes(free), folder, limit)
	default:
		e.fine("free space", "%s in %s", inBytes(free), folder)
	}
	switch info, err := os.Lstat(e.Path + reserveSuffix); {
	case errors.Is(err, os.ErrNotExist):
		e.fine("reserve", "none yet: whoever opens the database and finds room makes it")
	case err != nil:
		e.failed("reserve", err)
	case info.Size() == 0 && free < reserveRoom:
		e.wrong("reserve", advice, "given up for a full disk: only what runs is still recorded, until %s are free", inBytes(reserveRoom))
	case info.Size() == 0:
		e.fine("reserve", "given up for a full disk; there is room again, and whoever writes next fills it")
	default:
		e.fine("reserve", "%s", inBytes(info.Size()))
	}
}
