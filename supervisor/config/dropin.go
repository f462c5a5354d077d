package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/b1213022/bailiff/queue"
)

// folder is what a handlers_dir holds, sorted out by name and mode.
type folder struct {
	handlers map[string][]string // kind → paths of executable files
	sidecars map[string]string   // kind → path
	close    map[string]bool     // kinds of files that look meant but are no handlers
	leftover []string            // names
}

// addDropIns adds each executable file of handlers_dir as a handler.
func (l *loader) addDropIns() {
	dir := l.config.HandlersDir
	l.config.see(dir, listing)
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.warn(place{l.name(dir), 0}, "this folder does not exist, so there are no drop-in handlers", "mkdir "+l.name(dir))
		return
	case err != nil:
		l.fail(place{l.name(dir), 0}, "handlers_dir cannot be read: "+withoutPath(err).Error(), "")
		return
	}
	l.checkFolder(dir)
	found := folder{handlers: map[string][]string{}, sidecars: map[string]string{}, close: map[string]bool{}}
	for _, entry := range entries {
		l.sortOut(&found, filepath.Join(dir, entry.Name()))
	}
	if len(found.leftover) > 0 {
		l.warn(place{l.name(dir), 0}, strings.Join(found.leftover, ", ")+": no handlers, what an editor or a package left behind", "")
	}
	for _, kind := range slices.Sorted(maps.Keys(found.handlers)) {
		l.addDropIn(kind, found.handlers[kind], found.sidecars[kind])
	}
	for _, kind := range slices.Sorted(maps.Keys(found.sidecars)) {
		if found.handlers[kind] == nil && !found.close[kind] {
			at := place{l.name(found.sidecars[kind]), 0}
			l.warn(at, fmt.Sprintf("these settings have no handler: no executable file for kind %q is beside them", kind), "")
		}
	}
}

// sortOut decides what one entry of the folder is, without opening anything
// but regular files.
func (l *loader) sortOut(found *folder, path string) {
	name := filepath.Base(path)
	kind := strings.TrimSuffix(name, filepath.Ext(name))
	at := place{l.name(path), 0}
	if leftover(name) {
		found.leftover = append(found.leftover, name)
		return
	}
	if strings.HasPrefix(name, ".") {
		return
	}
	info, err := os.Stat(path)
	if filepath.Ext(name) == ".hcl" && (err != nil || !info.IsDir()) {
		// Whatever it is, a handler must not run without its settings: reading
		// them tells what is wrong.
		if err == nil {
			l.checkWriters(path)
		}
		found.sidecars[kind] = path
		return
	}
	if err != nil {
		found.close[kind] = true
		target, _ := os.Readlink(path)
		l.warn(at, fmt.Sprintf("not a handler: the link to %s leads nowhere", target), "")
		return
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return
	case !mode.IsRegular():
		found.close[kind] = true
		l.warn(at, "not a handler: it is no regular file but a "+typeOf(mode), "")
	case mode.Perm()&0o111 != 0:
		l.checkWriters(path)
		found.handlers[kind] = append(found.handlers[kind], path)
	case looksMeant(path) && !l.used(path):
		found.close[kind] = true
		l.warn(at, "not a handler: no execute bit", "chmod +x "+at.file)
	}
}

// addDropIn adds the handler of a kind; several files for it are an error.
func (l *loader) addDropIn(kind string, paths []string, sidecar string) {
	path := paths[len(paths)-1]
	at := place{l.name(path), 0}
	rivals := l.rivals(kind, paths)
	switch {
	case queue.ValidKind(kind) != nil:
		l.fail(at, fmt.Sprintf("%q is no kind, so this cannot be a handler", kind), "rename it, or chmod -x: "+kindRule(kind))
		return
	case len(rivals) == 1:
		l.fail(at, fmt.Sprintf("kind %q has two handlers", kind), fmt.Sprintf("the other is %s; rename or remove one", rivals[0]))
		return
	case len(rivals) > 1:
		l.fail(at, fmt.Sprintf("kind %q has %d handlers", kind, len(rivals)+1), fmt.Sprintf("the others are %s; keep one of them", strings.Join(rivals, ", ")))
		return
	}
	f := &filler{}
	block := "handler " + strconv.Quote(kind)
	f.list = append(f.list, Setting{Block: block, Name: "command", Value: format([]string{path}), From: "drop-in " + at.file})
	var own *section
	if sidecar != "" {
		read, ok := l.read(sidecar, sidecarBody, block)
		if !ok {
			return
		}
		own = read
	}
	h := &Handler{Kind: kind, Source: at.file, Command: []string{path}, ShownCommand: []string{path}, File: path}
	l.finish(h, f, own)
	l.add(h)
}

// rivals names whatever handles the kind beside the last of paths.
func (l *loader) rivals(kind string, paths []string) []string {
	var others []string
	if block := l.config.Handlers[kind]; block != nil {
		others = append(others, "the block at "+block.Source)
	}
	for _, path := range paths[:len(paths)-1] {
		others = append(others, l.name(path))
	}
	return others
}

// used reports whether a block of the config file runs this file.
func (l *loader) used(path string) bool {
	for _, h := range l.config.Handlers {
		if slices.Contains(h.Files(), path) {
			return true
		}
	}
	return false
}

// leftover recognises by its name what editors and package managers leave.
func leftover(name string) bool {
	if strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") || strings.HasPrefix(name, ".#") {
		return true
	}
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".swp", ".swo", ".swx", ".bak", ".backup", ".orig", ".rej", ".old", ".save", ".tmp", ".temp", ".part", ".disabled",
		".rpmnew", ".rpmsave", ".rpmorig", ".pacnew", ".pacsave":
		return true
	default:
		return strings.HasPrefix(ext, ".dpkg-") || strings.HasPrefix(ext, ".ucf-")
	}
}

// looksMeant recognises a program that lacks only the execute bit: a script
// with its #! line, a shell script without, or a compiled program.
func looksMeant(path string) bool {
	if filepath.Ext(path) == ".sh" {
		return true
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.Read(head)
	begin := string(head[:n])
	return strings.HasPrefix(begin, "#!") || begin == "\x7fELF"
}

func typeOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	default:
		return "device"
	}
}
