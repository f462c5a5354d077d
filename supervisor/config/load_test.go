package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/b1213022/bailiff/supervisor/config"
)

// Each file of testdata/<subject>/<case>.case holds a configuration, a line
// "----", and below it all that is wrong with it ("error …"), else all
// warnings ("warning …") and those effective settings that are not defaults.
// The flag writes what is so now below the line, to be read before it is kept.
var update = flag.Bool("update", false, "write what Load answers into testdata")

const rule = "----\n"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := os.Setenv("TEST_TOKEN", "hunter2"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestLoad(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.case")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases found", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".case"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, found := strings.Cut(string(text), rule)
			if !found {
				t.Fatal("no line between input and answer")
			}
			got := answer(t, input)
			if *update {
				if err := os.WriteFile(file, []byte(input+rule+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if strings.Contains(got, "hunter2") {
				t.Error("a secret is printed")
			}
		})
	}
}

// answer is what Load says about an input, as the lines of a case.
func answer(t *testing.T, input string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "config.hcl"), input, 0o644)
	write(t, filepath.Join(dir, "token"), "s3cret hunter2\n", 0o600)
	makeDir(t, filepath.Join(dir, "handlers"))
	c, err := config.Load(filepath.Join(dir, "config.hcl"))
	var b strings.Builder
	if err != nil {
		for _, line := range strings.Split(err.Error(), "\n") {
			b.WriteString("error " + line + "\n")
		}
	} else {
		for _, w := range c.Warnings {
			b.WriteString("warning " + w.String() + "\n")
		}
		for _, s := range c.Effective() {
			if s.From != "default" {
				b.WriteString(strings.TrimSpace(s.Block+" "+s.Name) + " = " + s.Value + " (" + s.From + ")\n")
			}
		}
	}
	return strings.ReplaceAll(b.String(), dir+"/", "")
}
