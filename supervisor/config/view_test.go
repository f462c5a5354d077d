package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestTouchingIsNoChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.hcl")
	sidecar := filepath.Join(dir, "handlers", "mail.hcl")
	if err := os.Mkdir(filepath.Join(dir, "handlers"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{path: "# nothing\n", sidecar: "timeout = \"1s\"\n", filepath.Join(dir, "handlers", "mail.sh"): "#!/bin/sh\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	v := &view{armed: map[string]string{}}
	v.follow(c.sources)
	later := time.Now().Add(time.Hour)
	for _, name := range []string{path, sidecar} {
		if err := os.Chtimes(name, later, later); err != nil {
			t.Fatal(err)
		}
	}
	if v.changed() {
		t.Error("a touched file counts as changed")
	}
	if err := os.WriteFile(sidecar, []byte("timeout = \"2s\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !v.changed() {
		t.Error("another text does not count as changed")
	}
}

func TestEventsOfOtherFilesDoNotMatter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.hcl")
	if err := os.WriteFile(path, []byte("# nothing\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "handlers"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	v := &view{armed: map[string]string{}}
	v.follow(c.sources)
	for name, want := range map[string]bool{
		"config.hcl": true, "handlers": true, "handlers/new.sh": true,
		"bailiff.db-wal": false, "state": false, "config.hcl~": false,
	} {
		if got := v.matters(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}

func TestStepsFollowEveryLink(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real", "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, target := range map[string]string{"a": filepath.Join(dir, "b"), "b": "real/./in", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "real", "in", "f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	in := func(folder, name string) step { return step{filepath.Join(dir, folder), name} }
	for path, want := range map[string][]step{
		"a/f":        {in("", "a"), in("", "b"), in("real/in", "f")},
		"a/../x/y/z": {in("", "a"), in("", "b"), in("real", "x")},
		"real":       {in("", "real")},
	} {
		if got := steps(dir + "/" + path); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if got := steps(filepath.Join(dir, "loop")); len(got) == 0 || len(got) > 50 {
		t.Errorf("a link to itself: got %d steps", len(got))
	}
}
