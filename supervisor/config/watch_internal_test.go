package config

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/hashicorp/go-hclog"
)

// As where the limit of inotify instances is reached: inotify_init1(2), EMFILE.
func TestWithoutInotifyFilesAreLookedAt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.hcl")
	save := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save("# one\n")
	first, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	w := NewWatcher(hclog.New(&hclog.LoggerOptions{Output: &log}))
	w.notify = func() (*fsnotify.Watcher, error) { return nil, syscall.EMFILE }
	ctx, cancel := context.WithCancel(t.Context())
	changes := 0
	save("# two\n")
	err = w.Run(ctx, first, func() {
		if changes++; changes == 2 {
			cancel()
			return
		}
		save("# three\n") // only the next look can tell of this one
	})
	if err != nil || changes != 2 {
		t.Errorf("got %d changes and error %v, want 2 and none", changes, err)
	}
	if got := strings.Count(log.String(), "looking for them every 2 s"); got != 1 {
		t.Errorf("got %d warnings, want one:\n%s", got, log.String())
	}
}
