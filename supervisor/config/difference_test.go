package config_test

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestChanges: what a reload changed besides handlers is told with both values.
func TestChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.hcl")
	write(t, path, "min_free = \"1MiB\"\nretention {\n  dead = \"30d\"\n}\nbackup {\n  keep = 3\n}\n", 0o644)
	before := load(t, path)
	write(t, path, "retention {\n  dead = \"forever\"\n}\nhandler \"h\" {\n  command = [\"./h\"]\n}\n", 0o644)
	after := load(t, path)
	want := []string{
		`min_free: "1MiB" → "64MiB"`, `retention dead: "30d" → "forever"`,
		`backup every: "24h" → (none)`, `backup folder: "backups" → (none)`, `backup keep: 3 → (none)`,
	}
	if got := after.Changes(before); !slices.Equal(got, want) {
		t.Errorf("changed: %q, want %q", got, want)
	}
	if got := before.Changes(after); !slices.Contains(got, `backup keep: (none) → 3`) || len(got) != len(want) {
		t.Errorf("changed back: %q", got)
	}
	if got := after.Changes(after); len(got) != 0 {
		t.Errorf("nothing changed: %q", got)
	}
}
