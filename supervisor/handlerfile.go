package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/b1213022/bailiff/supervisor/config"
)

// This file knows what handlers were started from: which content of their files,
// and whether that was changed in place since. A content is read only when the
// file's identity, size or times say that it may be another, and once for all
// handlers that share an interpreter. Safe for use by several goroutines.

// contents are the files looked at so far, by path. The zero value is ready.
type contents struct {
	mu    sync.Mutex
	files map[string]*content
}

// of returns the files of a handler; none where nothing is known of them.
func (c *contents) of(h *config.Handler) (files handlerFiles) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = make(map[string]*content)
	}
	for _, path := range h.Files() {
		if c.files[path] == nil {
			c.files[path] = &content{path: path}
		}
		files = append(files, c.files[path])
	}
	return files
}

// handlerFiles are a handler's files.
type handlerFiles []*content

// handlerState is a handler's files at one moment.
type handlerState struct {
	files  []fileState
	digest string // of all, hex SHA-256; empty if one could not be read, or there is none
}

// now looks at the files.
func (f handlerFiles) now() handlerState {
	state := handlerState{files: make([]fileState, len(f))}
	for i, file := range f {
		state.files[i] = file.now()
	}
	state.digest = digestOfAll(state.files)
	return state
}

// last is the digest that was seen last, by whomever. It looks at nothing.
func (f handlerFiles) last() string {
	files := make([]fileState, len(f))
	for i, file := range f {
		if seen := file.seen.Load(); seen != nil {
			files[i] = *seen
		}
	}
	return digestOfAll(files)
}

// changedInPlace names a file that has another content than it had before, when
// a run was started from it; empty if none has. A file put in the place of
// another by a rename has another identity: the run goes on with the old one,
// unharmed.
func (f handlerFiles) changedInPlace(before handlerState) (path string) {
	for i, was := range before.files {
		if was.digest == "" {
			continue
		}
		if is := f[i].now(); is.dev == was.dev && is.ino == was.ino && is.digest != was.digest {
			return f[i].path
		}
	}
	return ""
}

// digestOfAll is the digest of one file itself, and of several that of their
// digests in hex, one after the other.
func digestOfAll(files []fileState) string {
	digests := make([]string, len(files))
	for i, file := range files {
		if file.digest == "" {
			return ""
		}
		digests[i] = file.digest
	}
	if len(digests) < 2 {
		return strings.Join(digests, "")
	}
	sum := sha256.Sum256([]byte(strings.Join(digests, "")))
	return hex.EncodeToString(sum[:])
}

// content is one file whose content is watched.
type content struct {
	path    string
	looking sync.Mutex // one reads it at a time
	seen    atomic.Pointer[fileState]
}

// fileState is a file at one moment. The zero state is of a file that could
// not be read.
type fileState struct {
	dev, ino uint64
	size     int64
	modified time.Time
	changed  syscall.Timespec
	digest   string // hex SHA-256
}

// now looks at the file.
func (c *content) now() fileState {
	c.looking.Lock()
	defer c.looking.Unlock()
	state, ok := look(c.path)
	if !ok {
		return fileState{}
	}
	if last := c.seen.Load(); last != nil && state.same(*last) {
		state.digest = last.digest
	}
	if state.digest == "" {
		state.digest = digestOf(c.path)
	}
	c.seen.Store(&state)
	return state
}

func (s fileState) same(o fileState) bool {
	return s.dev == o.dev && s.ino == o.ino && s.size == o.size &&
		s.modified.Equal(o.modified) && s.changed == o.changed
}

func look(path string) (fileState, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return fileState{}, false
	}
	state := fileState{size: info.Size(), modified: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		state.dev, state.ino, state.changed = uint64(sys.Dev), sys.Ino, changeTime(sys)
	}
	return state, true
}

func digestOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
