package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse: whatever stands in a file, parse ends, and tells of a line of that
// file wherever it gives no body.
func FuzzParse(f *testing.F) {
	cases, err := filepath.Glob("testdata/*/*.case")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range cases {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		body, list, _ := parse(text, "f")
		if body == nil && len(list) == 0 {
			t.Error("nothing is wrong, and there is no body")
		}
		for _, d := range list {
			if lines := strings.Count(string(text), "\n") + 1; d.Line < 0 || d.Line > lines {
				t.Errorf("line %d of %d: %s", d.Line, lines, d.Summary)
			}
		}
		if body != nil {
			r := &sectionReader{file: "f", dir: t.TempDir(), eval: functions("", func(string) {}), list: &list}
			r.read(body, root, "", place{"f", 1})
		}
	})
}
