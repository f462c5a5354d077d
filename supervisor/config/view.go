package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/fsnotify/fsnotify"
)

// view is what is being watched, and what was last seen there.
type view struct {
	notifier *fsnotify.Watcher // nil: nothing tells of changes
	sources  []source
	last     map[looked]string          // what was seen at the load, or when onChange was last called
	folders  map[string]map[string]bool // folder → names in it that matter
	whole    map[string]bool            // folders in which every name matters
	armed    map[string]string          // watched folder → which one it is
	trouble  error                      // why a folder cannot be watched; nil: all are
}

// follow watches other sources; what their load saw is what changes are
// compared with.
func (v *view) follow(sources []source) {
	v.sources = sources
	v.last = map[looked]string{}
	for _, s := range sources {
		v.last[s.looked] = s.seen
	}
	v.arm()
}

func (v *view) look() map[looked]string {
	seen := map[looked]string{}
	for _, s := range v.sources {
		seen[s.looked] = s.sight.of(s.path)
	}
	return seen
}

func (v *view) changed() bool { return !maps.Equal(v.look(), v.last) }

// matters reports whether an event is about a name that is watched, or about a
// watched folder itself.
func (v *view) matters(path string) bool {
	dir := filepath.Dir(path)
	return v.armed[path] != "" || v.whole[dir] || v.folders[dir][filepath.Base(path)]
}

// arm watches every folder in which a change can change what the sources are:
// those of the files, of links on the way to them, and handlers_dir itself. It
// is repeated after each burst, because links may lead elsewhere then.
func (v *view) arm() {
	v.folders, v.whole = map[string]map[string]bool{}, map[string]bool{}
	for _, s := range v.sources {
		for _, step := range steps(s.path) {
			if v.folders[step.folder] == nil {
				v.folders[step.folder] = map[string]bool{}
			}
			v.folders[step.folder][step.name] = true
		}
		if dir, err := filepath.EvalSymlinks(s.path); err == nil && s.sight == listing {
			v.whole[dir] = true
			v.armPrograms(dir)
		}
	}
	if v.notifier == nil {
		return
	}
	v.trouble = nil
	for dir := range v.armed {
		if v.folders[dir] == nil && !v.whole[dir] {
			_ = v.notifier.Remove(dir) // it may be gone, and its watch with it
			delete(v.armed, dir)
		}
	}
	for dir := range v.folders {
		v.armFolder(dir)
	}
	for dir := range v.whole {
		v.armFolder(dir)
	}
}

// armPrograms makes changes of what the links in handlers_dir lead to matter.
func (v *view) armPrograms(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Type()&os.ModeSymlink == 0 {
			continue
		}
		for _, step := range steps(filepath.Join(dir, entry.Name())) {
			if v.folders[step.folder] == nil {
				v.folders[step.folder] = map[string]bool{}
			}
			v.folders[step.folder][step.name] = true
		}
	}
}

// armFolder asks for the events of one folder. A watch belongs to the folder
// itself, not to its name: if another folder has the name now, it moves there.
func (v *view) armFolder(dir string) {
	which := identity(dir)
	if v.armed[dir] == which {
		return
	}
	if v.armed[dir] != "" {
		_ = v.notifier.Remove(dir) // it may be gone, and its watch with it
		delete(v.armed, dir)
	}
	if err := v.notifier.Add(dir); err != nil {
		v.trouble = fmt.Errorf("watch %s: %w", dir, err)
		return
	}
	v.armed[dir] = which
}

// step is one name that is looked up on the way to a file, where that name, if
// it changes, leads elsewhere.
type step struct{ folder, name string }

// steps walks to path as the kernel does (path_resolution(7)) and answers each
// symbolic link on the way, the last name, and the first that does not exist.
func steps(path string) []step {
	const mostLinks = 40 // as many as Linux follows
	var found []step
	links, at := 0, "/"
	rest := strings.Split(path, "/")
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if target, err := os.Readlink(next); err == nil && links < mostLinks {
			links++
			found = append(found, step{at, name})
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		_, err := os.Lstat(next)
		if err != nil || len(rest) == 0 {
			found = append(found, step{at, name})
		}
		if err != nil {
			break
		}
		at = next
	}
	return found
}
