package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/b1213022/bailiff/internal/shellword"
	"github.com/b1213022/bailiff/queue"
	"github.com/b1213022/bailiff/supervisor"
	"github.com/b1213022/bailiff/supervisor/config"
)

// mostStopped bounds how many of the jobs that were stopped are named.
const mostStopped = 20

// tellLost adds to the error of a service whose queue could not be used any more
// what became of its jobs and what to do.
func (s *service) tellLost(err error) error {
	var lost *supervisor.QueueLost
	if !errors.As(err, &lost) {
		return err
	}
	moved := errors.Is(err, queue.ErrMoved)
	if moved {
		for _, line := range s.whereabouts() {
			err = advise(err, "%s", line)
		}
	}
	for _, line := range stoppedLines(lost.Stopped, s.config()) {
		err = advise(err, "%s", line)
	}
	switch {
	case moved:
		return advise(err, "no empty database was made")
	case errors.Is(err, queue.ErrNotOurs):
		return advise(err, "nothing was written any more; %s tells whether this program can use the database", s.app.command("check"))
	default:
		return advise(err, "what the disk did not confirm may be missing: look after the disk, then %s and %s", s.app.command("doctor"), s.app.command("run"))
	}
}

// whereabouts says where the database in use is now, and how to go on.
func (s *service) whereabouts() []string {
	path := s.path
	if there, err := os.Stat(path); err == nil && os.SameFile(there, s.file) {
		return []string{
			"the database itself is still there; what SQLite keeps beside it (-wal, -shm) must never be touched while it is in use",
			fmt.Sprintf("%s checks it; %s goes on with it", s.app.command("doctor"), s.app.command("run")),
		}
	}
	now := findOpen(s.file)
	if now == "" {
		return []string{
			"the file that was in use has no name any more; it may have been deleted",
			fmt.Sprintf("go on with a snapshot: bailiff restore SNAPSHOT %s", shellword.Quote(path+".new")),
		}
	}
	back := fmt.Sprintf("move it back, then %s: mv -n %s %s", s.app.command("run"), shellword.Quote(now), shellword.Quote(path))
	if _, err := os.Lstat(path); err == nil {
		back = fmt.Sprintf("what is at %s now is another file: decide which is the right one, and put it there alone, without the other's -wal and -shm", escape(path))
	}
	return []string{
		fmt.Sprintf("the database that was in use is now %s", escape(now)),
		back,
		fmt.Sprintf("%s-wal belongs to it where it is still there, and must be beside it under its name", escape(filepath.Base(path))),
	}
}

// findOpen is the present name of a file that this process has open; empty if it
// has none, or where the system does not tell. No descriptor is opened for it.
func findOpen(file os.FileInfo) string {
	const descriptors = "/proc/self/fd"
	entries, _ := os.ReadDir(descriptors)
	for _, entry := range entries {
		link := filepath.Join(descriptors, entry.Name())
		if open, err := os.Stat(link); err != nil || !os.SameFile(open, file) {
			continue
		}
		name, err := os.Readlink(link)
		if err != nil {
			continue
		}
		if named, err := os.Stat(name); err == nil && os.SameFile(named, file) {
			return name
		}
	}
	return ""
}

// stoppedLines says which jobs were stopped and what will become of them.
func stoppedLines(stopped []supervisor.RunStatus, cfg *config.Config) []string {
	if len(stopped) == 0 {
		return []string{"no job was running"}
	}
	var names, repeated, asked []string
	for i, r := range stopped {
		if i < mostStopped {
			pid := ""
			if r.PID != 0 {
				pid = fmt.Sprintf(", pid %d", r.PID)
			}
			names = append(names, fmt.Sprintf("#%d %s/%s (run %d%s)", r.ID, escape(r.Kind), escape(r.Key), r.Fence, pid))
		}
		kinds := &asked
		if h := cfg.Handlers[r.Kind]; h != nil && h.Repeatable {
			kinds = &repeated
		}
		if !slices.Contains(*kinds, r.Kind) {
			*kinds = append(*kinds, r.Kind)
		}
	}
	if more := len(stopped) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	lines := []string{"killed at once, nothing of it recorded: " + strings.Join(names, ", ")}
	stand := fmt.Sprintf("they stand as leased until their leases end by themselves, at most %s from now; then", span(cfg.Lease.Duration))
	if len(repeated) > 0 {
		stand += " those of " + strings.Join(repeated, ", ") + " are tried again (repeatable)"
	}
	if len(repeated) > 0 && len(asked) > 0 {
		stand += ", and"
	}
	if len(asked) > 0 {
		stand += " those of " + strings.Join(asked, ", ") + " are quarantined: nobody knows how far they came"
	}
	return append(lines, stand)
}
