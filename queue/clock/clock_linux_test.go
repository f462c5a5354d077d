package clock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestReadOffset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		want time.Duration
		ok   bool
	}{
		"none":         {"monotonic           0         0\nboottime            0         0\n", 0, true},
		"set":          {"monotonic      172800         5\nboottime       604800         0\n", 48*time.Hour + 5, true},
		"negative":     {"monotonic          -2         0\n", -2 * time.Second, true},
		"numbered":     {"1 7 0\n7 9 0\n", 7 * time.Second, true},
		"empty":        {"", 0, false},
		"no monotonic": {"boottime 1 2\n", 0, false},
		"another form": {"monotonic\nboottime 1 2\n", 0, false},
		"no number":    {"monotonic 1s 0\n", 0, false},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := readOffset(path); got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	if got, err := readOffset(filepath.Join(dir, "missing")); got != 0 || err != nil {
		t.Errorf("a kernel without time namespaces: %v, %v", got, err)
	}
	// A file that is there but not to be read, for root too.
	if got, err := readOffset(dir); err == nil {
		t.Errorf("unreadable: %v without an error", got)
	}
}

// Another process of this boot reads the same clock, whatever its namespace.
func TestMonoIsTheMachines(t *testing.T) {
	t.Parallel()
	first := System().Mono()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	offset, err := namespaceOffset()
	if err != nil {
		t.Fatal(err)
	}
	machine := time.Duration(ts.Nano()) - offset
	second := System().Mono()
	if first <= 0 || machine < first || second < machine {
		t.Errorf("readings %v, %v, %v are not in order", first, machine, second)
	}
	want, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skipf("no boot id to compare with, as where /proc is masked: %v", err)
	}
	if got := System().Boot(); got != strings.TrimSpace(string(want)) {
		t.Errorf("boot %q, want %q", got, want)
	}
}
