package config

import (
	"os"
	"path/filepath"
	"strings"
)

// commandFiles finds the files that a command runs from, for watching them: file
// is its second word where that names a regular file (a script after its
// interpreter), and program then its first; else file is the first. A first word
// without a slash is looked up in PATH. What is no regular file is empty, and
// likely is where a first word with a slash will be, once it is there. Whether
// the command can start is not judged here.
func commandFiles(h *Handler) (program, file, likely string) {
	program, likely = firstWord(h)
	if len(h.Command) > 1 && h.Command[1] != "" {
		if path := in(h.Dir, h.Command[1]); regular(path) {
			return program, path, likely
		}
	}
	return "", program, likely
}

func firstWord(h *Handler) (program, likely string) {
	first := h.Command[0]
	if strings.Contains(first, "/") {
		path := in(h.Dir, first)
		if regular(path) {
			return path, ""
		}
		return "", path
	}
	search, set := h.Env["PATH"]
	if !set {
		search = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(search) {
		if path := filepath.Join(dir, first); filepath.IsAbs(dir) && regular(path) {
			return path, ""
		}
	}
	return "", ""
}

// in is a path that starts in dir unless it is absolute.
func in(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
